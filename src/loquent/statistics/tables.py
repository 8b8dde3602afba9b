"""Tables: rows of named numbers as Markdown and CSV.

A number never travels without its direction, spread and n.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

Rows = Sequence[Mapping[str, Any]]
ARROWS = {True: " ↑", False: " ↓", None: ""}


def markdown(rows: Rows, directions: Mapping[str, bool | None]) -> str:
    """A Markdown table: the first column is text, the others numbers.

    A key `x/sd` is printed as ± beside `x`.
    """
    columns = [name for name in rows[0] if not name.endswith("/sd")]
    head = [name.replace("_", " ") + ARROWS[directions.get(name)] for name in columns]
    return text_table(head, [[_cell(row, name) for name in columns] for row in rows])


def text_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table of texts: the first column flush left, the others flush right.

    A `|` inside a text is escaped.
    """
    body = [[cell.replace("|", "\\|") for cell in line] for line in body]
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    rule = ["-" * width if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    lines = [head, rule, *body]
    return "\n".join(
        "| " + " | ".join(_padded(cell, widths[i], i) for i, cell in enumerate(line)) + " |" for line in lines
    )


def as_csv(rows: Rows) -> str:
    """The same rows as CSV, numbers in full."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def over_seeds(runs: Sequence[Rows], key: str) -> list[dict[str, Any]]:
    """One table out of several with the same rows: each number's mean, and with two seeds or more its
    deviation as `x/sd`.

    A number that one of the seeds has not is None: a mean over the others would read as one over all.
    """
    merged: list[dict[str, Any]] = []
    for same in zip(*runs, strict=True):
        row: dict[str, Any] = {key: same[0][key]}
        for name in dict.fromkeys(name for one in same for name in one):
            column = [float(one[name]) for one in same if isinstance(one.get(name), int | float)]
            if name == key or any(isinstance(one.get(name), str) for one in same):
                continue
            if len(column) < len(same):
                row[name] = None
                continue
            row[name] = mean(column)
            if len(column) > 1:
                row[f"{name}/sd"] = stdev(column)
        merged.append(row)
    return merged


def _cell(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if value is None:
        return "–"
    if isinstance(value, float):
        spread = row.get(f"{name}/sd")
        return number(value) + (f" ± {number(spread)}" if spread is not None else "")
    return str(value)


def number(value: float) -> str:
    """A number as tables print it: three digits behind the point below 10, two above, none for a large whole
    one; a dash for none.
    """
    if math.isnan(value):
        return "–"
    return (
        f"{value:.0f}"
        if float(value).is_integer() and abs(value) >= 10
        else f"{value:.3f}"
        if abs(value) < 10
        else f"{value:.2f}"
    )


def _padded(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column == 0 else cell.rjust(width)
