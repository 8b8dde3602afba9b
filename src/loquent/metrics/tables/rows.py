"""The tables of rows in ToTTo's format.

PARENT reads the values table for precision, and the highlighted cells for recall.

Fields of a row: `table` (rows of cells; a cell is a text, or a mapping with `value`), `highlighted_cells`
(pairs of row and column, from 0), and optionally `table_page_title`, `table_section_title`,
`table_section_text` and `overlap_subset` (true: the table's headers occur in training).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core.task import Row
from loquent.errors import BadRow, kind_of

Values = tuple[str, ...]
BREAKS = re.compile(r"[\t\n\r]+")  # these separate entries and tables in the official files


@dataclass(frozen=True)
class Table:
    """`values`: the values of all cells, titles and text.

    `highlighted`: those of the highlighted cells and titles.
    """

    values: Values
    highlighted: Values


def table_of(row: Row) -> Table:
    """The table of a row.

    Raises:
        BadRow: there is no table, or it has another format; the message names the row.
    """
    fields = row.fields
    cells: Any = fields.get("table")
    if not _is_list(cells) or not all(_is_list(line) for line in cells):
        raise BadRow(
            f"row {row.id!r} has {_description(fields, 'table')}; a list of rows of cells is "
            "allowed. PARENT needs the table that the text describes"
        )
    titles = [_text(fields.get(name), row, name) for name in ("table_page_title", "table_section_title")]
    text = _text(fields.get("table_section_text"), row, "table_section_text")
    values = [[_text(cell, row, "table") for cell in line] for line in cells]
    places = fields.get("highlighted_cells", ())
    if not _is_list(places):
        raise BadRow(
            f"row {row.id!r} has {_description(fields, 'highlighted_cells')}; a list of pairs [row, "
            "column] is allowed"
        )
    chosen = [_at(values, place, row) for place in places]
    return Table(
        _present([*(value for line in values for value in line), *titles, text]), _present([*chosen, *titles])
    )


def overlap(row: Row) -> bool | None:
    """Whether a row belongs to ToTTo's overlap subset; None if the field is absent.

    Raises:
        BadRow: the field is neither true nor false.
    """
    value = row.fields.get("overlap_subset")
    if value is not None and not isinstance(value, bool):
        raise BadRow(
            f"row {row.id!r} has {_description(row.fields, 'overlap_subset')}; true or false is allowed"
        )
    return value


def _present(values: Sequence[str]) -> Values:
    stripped = (BREAKS.sub(" ", value).strip() for value in values)
    return tuple(value.replace("|", "-") for value in stripped if value)


def _text(value: Any, row: Row, name: str) -> str:
    if isinstance(value, Mapping):
        value = value.get("value")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BadRow(
            f"row {row.id!r} has {kind_of(value)} in {name!r}; a text is allowed, or a cell with a "
            "text under 'value'"
        )
    return value


def _at(values: list[list[str]], place: Any, row: Row) -> str:
    if _is_list(place) and len(place) == 2 and all(isinstance(number, int) for number in place):
        line, column = place
        if 0 <= line < len(values) and 0 <= column < len(values[line]):
            return values[line][column]
    raise BadRow(
        f"row {row.id!r} highlights the cell {place!r}, but its table of {len(values)} rows has no "
        "such cell; a pair [row, column] of the table is allowed, counted from 0"
    )


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _description(fields: Mapping[str, Any], name: str) -> str:
    return f"{kind_of(fields[name])} as {name!r}" if name in fields else f"no field {name!r}"
