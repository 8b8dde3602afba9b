"""Tables of named numbers as Markdown and CSV, with the direction and the deviation of each number."""

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
    """A Markdown table whose first column is text and whose other columns are numbers.

    The value of a key `x/sd` is printed behind ± beside `x`.
    """
    columns = [name for name in rows[0] if not name.endswith("/sd")]
    head = [name.replace("_", " ") + ARROWS[directions.get(name)] for name in columns]
    return text_table(head, [[_cell(row, name) for name in columns] for row in rows])


def text_table(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table of texts: the first column is aligned left, the others right.

    A `|` inside a text is escaped.
    """
    body = [[cell.replace("|", "\\|") for cell in line] for line in body]
    # the rule of a column needs a dash beside its colon
    widths = [max(2, *(len(line[i]) for line in [head, *body])) for i in range(len(head))]
    rule = ["-" * width if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    lines = [head, rule, *body]
    return "\n".join(
        "| " + " | ".join(_padded(cell, widths[i], i) for i, cell in enumerate(line)) + " |" for line in lines
    )


def as_csv(rows: Rows) -> str:
    """The rows as CSV, with unrounded numbers."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def over_seeds(runs: Sequence[Rows], key: str) -> list[dict[str, Any]]:
    """The mean of each number over several tables with the same rows.

    With two tables or more, the standard deviation of `x` is `x/sd`. A number that is missing in one table is
    None, because a mean over the other tables would look like a mean over all.

    Args:
        runs: one table per seed.
        key: the column that names the rows.
    """
    merged: list[dict[str, Any]] = []
    for rows in zip(*runs, strict=True):
        merged_row: dict[str, Any] = {key: rows[0][key]}
        for name in dict.fromkeys(name for row in rows for name in row):
            column = [float(row[name]) for row in rows if isinstance(row.get(name), int | float)]
            if name == key or any(isinstance(row.get(name), str) for row in rows):
                continue
            if len(column) < len(rows):
                merged_row[name] = None
                continue
            merged_row[name] = mean(column)
            if len(column) > 1:
                merged_row[f"{name}/sd"] = stdev(column)
        merged.append(merged_row)
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
    """A number with three decimals if it is below 10, else with two; a dash for NaN.

    A whole number of at least 10 has no decimals.
    """
    if math.isnan(value):
        return "–"
    if abs(value) < 10:
        return f"{value:.3f}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"


def _padded(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column == 0 else cell.rjust(width)
