"""Tables of rows, as ToTTo writes them: what PARENT reads for precision (the whole table) and for recall (what is highlighted).

Fields of a row: `table` (rows of cells; a cell is a text, or has `value`), `highlighted_cells` (pairs of row and column, from 0), and where there are
any `table_page_title`, `table_section_title`, `table_section_text` and `overlap_subset` (true: the table's headers were seen in training).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.errors import BadRow, kind_of
from loquent.task import Row

Values = tuple[str, ...]
BREAKS = re.compile(r"[\t\n\r]+")  # they part entries and tables in the official files


@dataclass(frozen=True)
class Table:
    """The values of all cells with titles and text, and those of the highlighted cells with titles."""

    whole: Values
    highlighted: Values


def table_of(row: Row) -> Table:
    """The table of a row.

    Raises:
        BadRow: there is none, or it is not as above; names the row.
    """
    fields = row.fields
    cells: Any = fields.get("table")
    if not _listed(cells) or not all(_listed(line) for line in cells):
        raise BadRow(f"row {row.id!r} has {_what(fields, 'table')}; rows of cells are right: PARENT reads what the text was made from")
    titles = [_text(fields.get(name), row, name) for name in ("table_page_title", "table_section_title")]
    text = _text(fields.get("table_section_text"), row, "table_section_text")
    values = [[_text(cell, row, "table") for cell in line] for line in cells]
    places = fields.get("highlighted_cells", ())
    if not _listed(places):
        raise BadRow(f"row {row.id!r} has {_what(fields, 'highlighted_cells')}; pairs of row and column are right")
    chosen = [_at(values, place, row) for place in places]
    return Table(_present([*(value for line in values for value in line), *titles, text]), _present([*chosen, *titles]))


def overlap(row: Row) -> bool | None:
    """Whether a row is of ToTTo's overlap subset; None where it does not say."""
    told = row.fields.get("overlap_subset")
    if told is not None and not isinstance(told, bool):
        raise BadRow(f"row {row.id!r} has {_what(row.fields, 'overlap_subset')}; true or false is right")
    return told


def _present(values: Sequence[str]) -> Values:
    stripped = (BREAKS.sub(" ", value).strip() for value in values)
    return tuple(value.replace("|", "-") for value in stripped if value)


def _text(thing: Any, row: Row, name: str) -> str:
    if isinstance(thing, Mapping):
        thing = thing.get("value")
    if thing is None:
        return ""
    if not isinstance(thing, str):
        raise BadRow(f"row {row.id!r} has {kind_of(thing)} in {name!r}; a text is right, or a cell with a text under 'value'")
    return thing


def _at(values: list[list[str]], place: Any, row: Row) -> str:
    if _listed(place) and len(place) == 2 and all(isinstance(number, int) for number in place):
        line, column = place
        if 0 <= line < len(values) and 0 <= column < len(values[line]):
            return values[line][column]
    raise BadRow(f"row {row.id!r} highlights the cell {place!r}, and its table of {len(values)} rows has none there")


def _listed(thing: Any) -> bool:
    return isinstance(thing, list | tuple)


def _what(fields: Mapping[str, Any], name: str) -> str:
    return f"{kind_of(fields[name])} as {name!r}" if name in fields else f"no field {name!r}"
