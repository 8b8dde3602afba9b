"""Pieces of markup: figures, folds and tables."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.report.charts import safe


def figure(title: str, chart: str, caption: str = "", key: str = "") -> str:
    """A figure with its title, legend and caption; `chart` and `key` are markup."""
    below = f"<figcaption>{safe(caption)}</figcaption>" if caption else ""
    return f'<figure><h4 class="mono">{safe(title)}</h4>{key}{chart}{below}</figure>'


def fold(title: str, body: str) -> str:
    """A closed fold around markup."""
    return f"<details><summary>{safe(title)}</summary>{body}</details>"


def table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; its cells are markup."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        "<tr>"
        + "".join(f'<th scope="row">{c}</th>' if i == 0 else f"<td>{c}</td>" for i, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'
