"""Readers of files: they yield records in order, each with its line number.

The formats are JSON lines, CSV with a header, plain text with one text a line (all three also gzipped), and
the folders of the IMDB reviews. The encoding is UTF-8; a byte order mark at the start of a file is skipped.
What cannot be read raises `BadRow` with the file and the line. A blank line is a bad row, because readers
never skip data silently.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.core.guards.json_files import show
from loquent.core.guards.opening import MOST_LINE, blocks_of_lines, open_bytes
from loquent.errors import BadRow

Fields = dict[str, Any]
Records = Iterator[tuple[int, Fields]]  # (line, record)

csv.field_size_limit(MOST_LINE)  # the module's own bound, 131,072 characters, is below real articles
POLARITIES = ("neg", "pos")  # the folders of the IMDB layout, and its labels


def jsonl(path: Path) -> Records:
    """The objects of a file of JSON lines."""
    return ((number, record) for number, _, record in json_lines(path))


def json_lines(path: Path, wanted: Callable[[int], bool] | None = None) -> Iterator[tuple[int, str, Fields]]:
    """The wanted lines of a file of JSON lines, each with its number and its object."""
    number, line = 0, ""

    def texts() -> Iterator[str]:
        nonlocal number, line
        for number, line in lines(path):
            if wanted is None or wanted(number):
                yield line

    try:
        for record in json_files.values(texts()):
            if type(record) is not dict:
                why = f"this line holds {show(record)}; a line must hold one JSON object {{...}}"
                raise BadRow(why, file=path, line=number)
            yield number, line, record
    except json_files.BadJson as error:
        why = f"this line is not JSON ({error})"
        if not line.strip():
            why = "this line is blank; a line must hold one JSON object"
        raise BadRow(why, file=path, line=number) from error


def csv_rows(path: Path, delimiter: str = ",") -> Records:
    """The rows of a CSV file whose first line names the columns; all values are strings.

    A row's line is its first line.
    """
    reader = csv.reader((line + "\n" for _, line in lines(path)), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    first = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error as error:
            raise BadRow(f"this is not CSV ({error})", file=path, line=first) from error
        if header is None:
            header = _header(cells, path)
        elif len(cells) != len(header):
            raise BadRow(
                f"this row has {len(cells)} cells; it must have {len(header)}, as the header: "
                f"{', '.join(header)}",
                file=path,
                line=first,
            )
        else:
            yield first, dict(zip(header, cells, strict=True))
        first = reader.line_num + 1


def text_lines(path: Path) -> Records:
    """The lines of a plain text file, one text each, under the name "text"."""
    for number, line in lines(path):
        yield number, {"text": line}


FORMATS: dict[str, Callable[[Path], Records]] = {
    ".jsonl": jsonl,
    ".json": jsonl,
    ".ndjson": jsonl,
    ".csv": csv_rows,
    ".txt": text_lines,
}


def reader(path: Path) -> Callable[[Path], Records] | None:
    """The reader for a file, by the ending of its name without ".gz"; None for an unknown ending."""
    name = path.name.lower().removesuffix(".gz")
    return next((read for ending, read in FORMATS.items() if name.endswith(ending)), None)


def imdb(folder: Path) -> Iterator[tuple[Path, Fields]]:
    """The texts of one split in the IMDB layout, `pos/*.txt` and `neg/*.txt`; the folder's name is the label.

    Other files and folders (`unsup`, word counts, lists of addresses) hold no labelled text and are ignored.
    """
    for label in POLARITIES:
        if not (folder / label).is_dir():
            raise BadRow(
                f"the folder {label}/ is missing; the IMDB layout must have pos/*.txt and neg/*.txt",
                file=folder,
            )
        paths = sorted(path for path in (folder / label).iterdir() if not path.name.startswith("."))
        if not paths:
            raise BadRow("this folder is empty; it must hold .txt files", file=folder / label)
        for path in paths:
            if path.suffix != ".txt" or not path.is_file():
                raise BadRow(
                    "this is not a .txt file; the folders of the IMDB layout must hold .txt files only",
                    file=path,
                )
            text = "\n".join(line for _, line in lines(path))
            yield path, {"text": text, "label": label}


def is_imdb(folder: Path) -> bool:
    """Whether a folder has the IMDB layout: `train` or `test` with `pos` or `neg` in it."""
    return any((folder / split / label).is_dir() for split in ("train", "test") for label in POLARITIES)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The decoded lines of a file without line ends, numbered from 1. Only "\\n" and "\\r\\n" end a line."""
    number = 0
    try:
        with open_bytes(path) as file:
            for block in blocks_of_lines(file):
                for line in _decoded(block, path, number + 1):
                    number += 1
                    yield number, line
    except OSError as error:
        raise BadRow(
            f"this file cannot be read further ({type(error).__name__}: {error})", file=path, line=number + 1
        ) from error
    if number == 0:
        raise BadRow("the file is empty; it must hold at least one line", file=path)


def _decoded(block: bytes, path: Path, first: int) -> Iterable[str]:
    """The lines of a block whose first line has the number `first`; decoded at once if nothing is special."""
    try:
        text = block.decode("utf-8").removesuffix("\n")
    except UnicodeDecodeError:
        text = ""
    if text and "\r" not in text and first > 1:
        return text.split("\n")
    return (_decode(raw, path, number) for number, raw in enumerate(io.BytesIO(block), first))


def _decode(raw: bytes, path: Path, number: int) -> str:
    try:
        line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        why = (
            f"this line is not UTF-8: byte {raw[error.start]:#04x} at column {error.start + 1}; save the "
            "file as UTF-8"
        )
        raise BadRow(why, file=path, line=number) from error
    return line.removeprefix("\ufeff") if number == 1 else line


def _header(cells: list[str], path: Path) -> list[str]:
    if not all(cell.strip() for cell in cells) or len(set(cells)) != len(cells):
        raise BadRow(
            f"the first line is {cells}; it must give each column a different name", file=path, line=1
        )
    return cells
