"""One model of a table with its four renderings: terminal, Markdown, HTML and CSV.

A cell is a text, a number, None, or a `Cell`, which has more than its text. Every rendering escapes what has
a meaning in it, so that a text of a model, a file or a person stays text.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import count
from statistics import mean, stdev
from typing import Any

from loquent.core.guards.terminal import escape_text, line

Rows = Sequence[Mapping[str, Any]]
ARROWS = {True: " ↑", False: " ↓", None: ""}
NONE = "–"
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a text that begins with one of these
# bars, raw HTML, entities, links, code and emphasis; "[0.1, 0.2]", "< 0.1" and "a_b" have no meaning
MARKDOWN = re.compile(r"[\\`*~|&]|<(?=[A-Za-z/!?])|\](?=[(\[])|(?<!\w)_|_(?!\w)")
ENTITIES = {"<": "&lt;", "&": "&amp;"}


@dataclass(frozen=True)
class Cell:
    """A cell with more than its text.

    Attributes:
        text: what every rendering but CSV shows.
        mark: the class of the cell in HTML.
        title: a tooltip in HTML.
        below: what HTML shows below the text: markup (an object with `__html__`) or a text.
    """

    text: str
    mark: str = ""
    title: str = ""
    below: Sequence[Any] = ()


@dataclass(frozen=True)
class Table:
    """A head and rows; a row has as many cells as the head, and its first cell names it."""

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.head):
                raise ValueError(f"a row has {len(row)} cells and the head {len(self.head)}: {row!r:.200}")

    def terminal(self) -> str:
        """Lines of aligned columns: the first column to the left, the others to the right."""
        lines = [[line(text) for text in row] for row in self._texts()]
        return "\n".join("  ".join(row).rstrip() for row in _aligned(lines))

    def markdown(self) -> str:
        """A Markdown table: the first column is aligned left, the others right."""
        head, *rows = ([literal(text) for text in row] for row in self._texts())
        # the rule of a column needs a dash beside its colon
        widths = [max(2, *(len(row[i]) for row in (head, *rows))) for i in range(len(head))]
        rule = ["-" * width if i == 0 else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
        return "\n".join(f"| {' | '.join(row)} |" for row in _aligned([head, rule, *rows]))

    def __html__(self) -> str:
        """Markup, which a template takes as it is."""
        head = "".join(f'<th scope="col">{safe(text)}</th>' for text in self.head)
        rows = "".join(f"<tr>{''.join(map(_html, row, count()))}</tr>" for row in self.rows)
        return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'

    def csv(self) -> str:
        """CSV after RFC 4180 with line feeds as line ends and unrounded numbers.

        A text that a spreadsheet would run as a formula begins with an apostrophe.
        """
        return "".join(f"{_csv_line(row)}\n" for row in (self.head, *self.rows))

    def _texts(self) -> list[list[str]]:
        return [list(self.head), *([text_of(cell) for cell in row] for row in self.rows)]


def name_lines(texts: Mapping[str, str], indent: str = "") -> str:
    """Lines of names with their texts behind them, which begin in one column."""
    width = max((len(line(name)) for name in texts), default=0)
    lines = (f"{indent}{line(name):<{width}}  {line(text)}" for name, text in texts.items())
    return "".join(f"{text.rstrip()}\n" for text in lines)


def of_numbers(rows: Rows, directions: Mapping[str, bool | None]) -> Table:
    """A table of named numbers with their directions.

    The value of a key `x/sd` is printed behind ± beside `x`.
    """
    columns = [name for name in rows[0] if not name.endswith("/sd")]
    head = [name.replace("_", " ") + ARROWS[directions.get(name)] for name in columns]
    return Table(head, [[_with_spread(row, name) for name in columns] for row in rows])


def as_csv(rows: Rows) -> str:
    """Named numbers as CSV, unrounded."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table(names, [[row.get(name) for name in names] for row in rows]).csv()


def short(value: float | None) -> str:
    """A number with four significant digits; a dash for None, NaN and infinities."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}".replace("-", "−")


def text_of(cell: Any) -> str:
    """The text of a cell: of a number three decimals or two (`number`), and a dash for None."""
    if isinstance(cell, Cell):
        return cell.text
    if cell is None:
        return NONE
    return number(cell) if isinstance(cell, float) else str(cell)


def literal(text: str) -> str:
    """Any text as one line of Markdown, in which nothing is markup."""
    return MARKDOWN.sub(lambda found: ENTITIES.get(found.group(), f"\\{found.group()}"), line(text))


def guard_formula(value: Any) -> Any:
    """A value of CSV; a text that a spreadsheet would run as a formula has an apostrophe before it."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def safe(text: str) -> str:
    """Any text, even a model's, as text of a page: markup, control and direction marks have no effect."""
    return escape(escape_text(text), quote=True)


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


def number(value: float) -> str:
    """A number with three decimals if it is below 10, else with two; a dash for NaN.

    A whole number of at least 10 has no decimals.
    """
    if math.isnan(value):
        return NONE
    if abs(value) < 10:
        return f"{value:.3f}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"


def _with_spread(row: Mapping[str, Any], name: str) -> Any:
    value, spread = row.get(name), row.get(f"{name}/sd")
    return value if spread is None or value is None else f"{number(value)} ± {number(spread)}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The rows with cells of one width in each column; the first column begins on the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        [text.rjust(width) if i else text.ljust(width) for i, (text, width) in enumerate(zip(row, widths))]
        for row in rows
    ]


def _csv_line(row: Sequence[Any]) -> str:
    out = io.StringIO()
    cells = [guard_formula(cell.text if isinstance(cell, Cell) else cell) for cell in row]
    csv.writer(out, lineterminator="\r\n").writerow(cells)  # with "\n" alone a "\r" would not be quoted
    return out.getvalue().removesuffix("\r\n")


def _html(cell: Any, place: int) -> str:
    shown = cell if isinstance(cell, Cell) else Cell(text_of(cell))
    names = {"class": shown.mark, "title": shown.title, "scope": "" if place else "row"}
    attributes = "".join(f' {name}="{safe(value)}"' for name, value in names.items() if value)
    below = "".join(
        item.__html__() if hasattr(item, "__html__") else f"<small>{safe(item)}</small>"
        for item in shown.below
    )
    tag = "td" if place else "th"
    return f"<{tag}{attributes}>{safe(shown.text)}{below}</{tag}>"
