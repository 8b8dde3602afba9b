"""Files of comments, in several forms.

A row has `parent` ("" where the file has none), `comment`, and what the file has of `score` (an integer),
`label` (0, 1 or 2) and `emotions`. Texts keep their line breaks and inner spaces, as in the released code.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from loquent.core.guards import json_files
from loquent.core.guards.json_files import show
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.readers import csv_rows, jsonl, lines
from loquent.data.sources import Splits, split_by_id, with_validation
from loquent.data.tables.splits import ALIASES
from loquent.errors import BadRow, BadSetting

RELEASE = ("comments_positive.csv", "comments_negative.csv")
TEXT, SCORE, PARENT = 4, 5, 10  # columns of the release's files, from 0
COMMENT_NAMES = ("comment", "text", "body")
PARENT_NAMES = ("parent", "parent_text", "post")
LABEL_NAMES = ("label", "toxic", "toxicity")
LABELS = {"0": 0, "1": 1, "2": 2, "false": 0, "true": 2}  # a file with two labels has safe and unsafe ones
WHOLE = re.compile(r"([+-]?[0-9]+)(?:\.0*)?")  # tables with missing cells write 3 as 3.0
NAMES = {**ALIASES, "eval": "validation"}
ENDINGS = (".csv", ".jsonl", ".tsv")


def read(path: Path) -> Splits:
    """The rows of a file or a folder by split; BadSetting or BadRow as `rows.load`."""
    if not path.is_file() and not path.is_dir():  # a pipe or a device may have no end
        raise BadSetting(f"path = {str(path)!r}: there is no such file or folder")
    if path.is_file():
        return with_validation(split_by_id(_rows(path, _kind(path)), path), place=path)
    release = [file for name in RELEASE for file in (path / name, path / f"{name}.gz") if file.is_file()]
    if release:
        return _released(path, release)
    files: dict[str, Path] = {}
    for file in sorted(path.iterdir()):
        split = NAMES.get(file.name.split(".")[0].lower())
        if split is None or not file.is_file() or _ending(file) not in ENDINGS:
            continue
        if split in files:
            raise BadSetting(
                f"path = {str(path)!r}: {files[split].name} and {file.name} both hold {split!r}; keep one"
            )
        files[split] = file
    if not files:
        raise BadSetting(
            f"path = {str(path)!r}: this folder has no rows; it must hold {' or '.join(RELEASE)}, or files "
            f"named train, validation or test ({', '.join(ENDINGS)}, also .gz)"
        )
    return with_validation({split: _rows(file, split) for split, file in files.items()}, place=path)


def _kind(path: Path) -> str:
    return path.name.split(".")[0]


def _ending(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _rows(path: Path, prefix: str) -> tuple[Row, ...]:
    """The rows of one file, with the ids PREFIX-LINE."""
    read = {".csv": _csv, ".jsonl": _named, ".tsv": _tsv}.get(_ending(path))
    if read is None:
        raise BadSetting(f"{path}: its name must end in {', '.join(ENDINGS)}, or in one of these and .gz")
    found = tuple(Row(f"{prefix}-{line}", fields) for line, fields in read(path))
    if not found:
        raise BadRow("the file has no row", file=path)
    return found


def _csv(path: Path) -> Iterator[tuple[int, Record]]:
    yield from _positions(path) if path.name.removesuffix(".gz") in RELEASE else _named(path)


def _positions(path: Path) -> Iterator[tuple[int, Record]]:
    """Rows of the release's form: the header is skipped, and columns have fixed places."""
    reader = csv.reader((line + "\n" for _, line in lines(path)), strict=True)
    try:
        next(reader, None)
        first = reader.line_num + 1
        for cells in reader:
            if len(cells) <= PARENT:
                raise BadRow(
                    f"this row has {len(cells)} cells; it must have at least {PARENT + 1}: the comment in "
                    f"column {TEXT}, its score in {SCORE}, the post in {PARENT}, counted from 0",
                    file=path,
                    line=first,
                )
            values = {"comment": cells[TEXT], "score": cells[SCORE], "parent": cells[PARENT]}
            yield first, _fields(values, path, first)
            first = reader.line_num + 1
    except csv.Error as error:
        raise BadRow(f"this is not CSV ({error})", file=path, line=reader.line_num) from error


def _named(path: Path) -> Iterator[tuple[int, Record]]:
    """Rows of a file whose columns or fields have names."""
    for line, record in (csv_rows if _ending(path) == ".csv" else jsonl)(path):
        values = {"comment": _first(record, COMMENT_NAMES), "score": record.get("score")}
        values |= {"parent": _first(record, PARENT_NAMES), "label": _first(record, LABEL_NAMES)}
        yield line, _fields(values, path, line)


def _tsv(path: Path) -> Iterator[tuple[int, Record]]:
    """Rows of GoEmotions: the comment, the numbers of its emotions, and an id."""
    names = path.parent / "labels.txt"
    emotions = [line for _, line in lines(names)] if names.is_file() else []
    for number, line in lines(path):
        cells = line.split("\t")
        numbers = cells[1].split(",") if len(cells) == 3 else []
        if not numbers or not all(text.isdecimal() and len(text) < 4 for text in numbers):
            what = f"this row is {show(line)}; it must be a comment, numbers such as 3,12 and an id"
            raise BadRow(f"{what}, separated by tabs", file=path, line=number)
        known = {text: emotions[int(text)] for text in numbers if int(text) < len(emotions)}
        fields = _fields({"comment": cells[0]}, path, number)
        yield number, fields.with_(emotions=tuple(known.get(text, text) for text in numbers))


def _first(record: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((record[name] for name in names if name in record), None)


def _fields(values: Mapping[str, Any], path: Path, line: int) -> Record:
    comment, parent = values["comment"], values.get("parent") or ""
    if not isinstance(comment, str) or not comment.strip() or not isinstance(parent, str):
        raise BadRow(
            f"the comment is {show(comment)} and its post {show(parent)}; the comment must be a text that "
            f"is not empty, under one of the names {', '.join(COMMENT_NAMES)}",
            file=path,
            line=line,
        )
    found: dict[str, Any] = {"parent": parent.strip(), "comment": comment.strip()}
    if values.get("score") is not None:
        found["score"] = _integer(values["score"], path, line)
    if values.get("label") is not None:
        label = WHOLE.sub(r"\1", str(values["label"]).strip().lower())
        if label not in LABELS:
            what = f"the label is {show(values['label'])}; it must be one of {', '.join(LABELS)}"
            raise BadRow(what, file=path, line=line)
        found["label"] = LABELS[label]
    return Record(found)


def _integer(value: Any, path: Path, line: int) -> int:
    try:
        text = str(value).strip()
        if isinstance(value, bool) or not isinstance(value, int | float | str) or len(text) > 18:
            raise ValueError
        if not WHOLE.fullmatch(text):
            raise ValueError
        return int(WHOLE.sub(r"\1", text))
    except ValueError:
        raise BadRow(f"the score is {show(value)}; it must be an integer", file=path, line=line) from None


def _released(folder: Path, files: list[Path]) -> Splits:
    """The rows of ILQL's release: both files in one sequence, which lists of numbers split."""
    rows = [row for file in files for row in _rows(file, _kind(file))]
    lists = {NAMES.get(file.name.split("_")[0].lower()): file for file in sorted(folder.glob("*.json"))}
    lists.pop(None, None)
    if not lists:
        return split_by_id(rows, folder)
    found: Splits = {}
    for split, file in lists.items():
        numbers = json_files.load(file, error=BadSetting)
        right = isinstance(numbers, list) and all(
            type(number) is int and 0 <= number < len(rows) for number in numbers
        )
        if not right or not numbers or len(set(numbers)) < len(numbers):
            what = f"{file}: it holds {show(numbers)}; it must be a list of different numbers of rows"
            raise BadSetting(f"{what}, from 0 to {len(rows) - 1}")
        found[str(split)] = tuple(rows[number] for number in numbers)
    return with_validation(found, place=folder)
