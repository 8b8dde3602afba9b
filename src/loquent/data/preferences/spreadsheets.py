"""Tables as spreadsheets save them: in UTF-8, UTF-16 or Windows-1252, with commas, semicolons or tabs."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from loquent.core.guards.opening import MOST_LINE, open_bytes
from loquent.errors import BadRow

DELIMITERS = ",;\t"  # spreadsheets in many languages save CSV with semicolons
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def rows(path: Path, names: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The cells of the named columns, with the line on which a row begins; rows without text are left out.

    A column is found by its name in any case. Other columns are ignored, as are empty cells behind the last.

    Raises:
        BadRow: the file cannot be read, a column is missing or there twice, or a row has another number of
            cells than the header.
    """
    text = _text(path)
    delimiter = max(DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    places: dict[str, int] = {}
    width, first = 0, 1
    try:
        for cells in reader:
            line, first = first, reader.line_num + 1
            if not places:
                places, width = {name: _place(name, cells, path) for name in names}, len(cells)
            elif any(cell.strip() for cell in cells):
                if len(cells) < width or any(cell.strip() for cell in cells[width:]):
                    why = f"this row has {len(cells)} cells; it must have {width}, as the header"
                    raise BadRow(why, file=path, line=line)
                yield line, {name: cells[place] for name, place in places.items()}
    except csv.Error as error:
        raise BadRow(f"this is not CSV ({error})", file=path, line=first) from error


def _place(name: str, header: Sequence[str], path: Path) -> int:
    """The place of a column; of columns that differ in case alone, that with the very name."""
    stripped = [cell.strip() for cell in header]
    exact = [i for i, cell in enumerate(stripped) if cell == name]
    found = exact or [i for i, cell in enumerate(stripped) if cell.casefold() == name.casefold()]
    if len(found) != 1:
        what = "has twice" if found else "lacks"
        shown = ", ".join(stripped)
        raise BadRow(f"the sheet {what} the column {name!r}; it has {shown:.200}", file=path, line=1)
    return found[0]


def _text(path: Path) -> str:
    try:
        with open_bytes(path) as file:
            raw = file.read(MOST_LINE + 1)
    except OSError as error:
        raise BadRow(f"this file cannot be read ({error})", file=path, line=1) from error
    if not raw or len(raw) > MOST_LINE:
        raise BadRow(f"a sheet must have 1 to {MOST_LINE:,} bytes", file=path, line=1)
    for encoding in ("utf-16",) if raw.startswith(MARKS) else ("utf-8-sig", "cp1252"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise BadRow(
        "this file is not text in UTF-8, UTF-16 or Windows-1252; save the sheet as CSV in UTF-8",
        file=path,
        line=1,
    )
