"""Tables of texts, for the terminal and for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from loquent.core.guards.terminal import escaped


def plain_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lines of aligned columns: the first column to the left, the others to the right."""
    lines = [[escaped(cell) for cell in row] for row in (head, *rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML; the cells are texts, in which markup has no effect."""
    parts = [
        "<tr>" + "".join(f"<{tag}>{escape(escaped(cell))}</{tag}>" for cell in row) + "</tr>"
        for tag, row in (("th", head), *(("td", row) for row in rows))
    ]
    return f"<table>{''.join(parts)}</table>"
