"""Readers: files to records, in order, each with its line. Whatever cannot be read is a `BadRow` naming file and line.

JSON lines, CSV with a header, one text a line (all three also gzipped), and the folders of the IMDB reviews. UTF-8 is the only
encoding; a byte order mark at the start of a file is skipped. A blank line is a bad row: nothing is left out in silence.
"""

from __future__ import annotations

import csv
import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from loquent.errors import BadRow

Fields = dict[str, Any]
Records = Iterator[tuple[int, Fields]]  # (line, what stands there)

POLARITIES = ("neg", "pos")  # the folders of the IMDB layout, and its labels


def jsonl(path: Path) -> Records:
    """The objects of a file of JSON lines."""
    for number, line in lines(path):
        if not line.strip():
            raise BadRow("this line is blank; a line holds one JSON object", file=path, line=number)
        try:
            thing = json.loads(line, object_pairs_hook=_object, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise BadRow(f"this line is not JSON ({error})", file=path, line=number) from error
        if not isinstance(thing, dict):
            raise BadRow(f"a line holds one JSON object {{...}}, this one holds {short(thing)}", file=path, line=number)
        yield number, thing


def csv_rows(path: Path) -> Records:
    """The rows of a CSV file whose first line names the columns; all values are strings. The line is the row's first."""
    reader = csv.reader((line + "\n" for _, line in lines(path)), strict=True)
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
            raise BadRow(f"this row has {len(cells)} cells; the header names {len(header)} columns: {', '.join(header)}", file=path, line=first)
        else:
            yield first, dict(zip(header, cells, strict=True))
        first = reader.line_num + 1


def text_lines(path: Path) -> Records:
    """The lines of a plain text file, one text each, under the name "text"."""
    for number, line in lines(path):
        yield number, {"text": line}


FORMATS: dict[str, Callable[[Path], Records]] = {".jsonl": jsonl, ".csv": csv_rows, ".txt": text_lines}


def reader(path: Path) -> Callable[[Path], Records] | None:
    """The reader for a file, by the end of its name (a last ".gz" does not count); None where there is none."""
    name = path.name.lower().removesuffix(".gz")
    return next((read for ending, read in FORMATS.items() if name.endswith(ending)), None)


def imdb(folder: Path) -> Iterator[tuple[Path, Fields]]:
    """The texts of one split in the IMDB layout, `pos/*.txt` and `neg/*.txt`, with the folder's name as their label.

    Other folders and files beside `pos` and `neg` (`unsup`, word counts, lists of addresses) hold no labelled text and are not read.
    """
    for label in POLARITIES:
        if not (folder / label).is_dir():
            raise BadRow(f"the folder {label}/ is missing; the IMDB layout has pos/*.txt and neg/*.txt", file=folder)
        paths = sorted(path for path in (folder / label).iterdir() if not path.name.startswith("."))
        if not paths:
            raise BadRow("this folder is empty", file=folder / label)
        for path in paths:
            if path.suffix != ".txt" or not path.is_file():
                raise BadRow("the folders of the IMDB layout hold .txt files only", file=path)
            text = "\n".join(line for _, line in lines(path))
            yield path, {"text": text, "label": label}


def is_imdb(folder: Path) -> bool:
    """Whether a folder has the IMDB layout: `train` or `test` with `pos` or `neg` in it."""
    return any((folder / split / label).is_dir() for split in ("train", "test") for label in POLARITIES)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file, decoded, without their ends, numbered from 1; only "\\n" and "\\r\\n" end a line."""
    number = 0
    try:
        with _open(path) as file:
            for number, raw in enumerate(file, 1):
                yield number, _decoded(raw, path, number)
    except (OSError, EOFError, zlib.error) as error:
        raise BadRow(f"this file cannot be read further ({type(error).__name__}: {error})", file=path, line=number + 1) from error
    if number == 0:
        raise BadRow("the file is empty", file=path)


def _open(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix.lower() == ".gz" else path.open("rb")


def _decoded(raw: bytes, path: Path, number: int) -> str:
    try:
        line = raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadRow(f"this line is not UTF-8: byte {raw[error.start]:#04x} at column {error.start + 1}", file=path, line=number) from error
    return line.removeprefix("\ufeff") if number == 1 else line


def _header(cells: list[str], path: Path) -> list[str]:
    if not all(cell.strip() for cell in cells) or len(set(cells)) != len(cells):
        raise BadRow(f"the first line must give each column a name of its own, not {cells}", file=path, line=1)
    return cells


def _object(pairs: list[tuple[str, Any]]) -> Fields:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return fields


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def short(thing: object) -> str:
    """A thing as an error shows it, at most 40 characters."""
    text = repr(thing)
    return text if len(text) <= 40 else text[:37] + "..."
