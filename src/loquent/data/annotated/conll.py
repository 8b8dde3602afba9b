"""Sentences in columns: CoNLL (one token per line, with its label) and CoNLL-U. A record is one sentence."""

from __future__ import annotations

import re
from pathlib import Path

from loquent.data.annotated.loading import Lines
from loquent.data.readers import Fields, Records, lines
from loquent.errors import BadRow, BadSetting, nearest

DOCUMENT = "-DOCSTART-"  # begins a document in CoNLL-2003; it is not a token
COMMENT = re.compile(r"# *[\w.:-]+ *=")
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def conll(path: Path, token: str = "", label: str = "") -> Records:
    """The sentences of a file in columns, each with its first line; empty lines end a sentence.

    Tabs separate the columns of a line if it has any, else spaces. Comments before a sentence are ignored:
    lines such as `# sent_id = 3`; lines that begin with "# " and have another number of columns than the
    file; and lines that begin with # and end with something that no other line of the file has as a label,
    such as `# train`. Other lines that begin with # are tokens, such as `#hashtag O` or `# O`.

    Args:
        token, label: column numbers, counted from 0, or from the end if negative; "" for the first and the
            last column.

    Raises:
        BadRow: a line has another number of columns than the first. BadSetting: there is no such column.
    """
    columns = (_number(token, "token_field", 0), _number(label, "label_field", -1))
    width = _width(path)
    if width:
        _check_width(width, columns, path)
    known = _labels(path, width, columns[1])
    sentence: list[tuple[str, str, int]] = []
    start = 1
    for number, line in lines(path):
        if not line.strip() or line.startswith(DOCUMENT):
            if sentence:
                yield start, _record(sentence)
            sentence = []
            continue
        cells = _cells(line)
        if not sentence and line.startswith("#") and _is_comment(line, cells, width, known, columns[1]):
            continue
        if len(cells) != width:
            raise BadRow(
                f"this line has {len(cells)} columns: {line[:60]!r}; it must have {width}, as the "
                "lines before",
                file=path,
                line=number,
            )
        start = start if sentence else number
        sentence.append((cells[columns[0]], cells[columns[1]], number))
    if sentence:
        yield start, _record(sentence)


def conllu(path: Path, token: str = "", label: str = "") -> Records:
    """The sentences of a CoNLL-U file: the words with ids 1, 2, ...

    Ranges such as 3-4 and empty nodes such as 8.1 are ignored.

    Args:
        token, label: names of columns, as in `CONLLU`, in any case; "" for form and upos.

    Raises:
        BadRow: a line has another number of columns, or an id is not the next one. BadSetting: there is no
            such column.
    """
    columns = [
        _index(name or default, setting)
        for name, default, setting in ((token, "form", "token_field"), (label, "upos", "label_field"))
    ]
    sentence: list[tuple[str, str, int]] = []
    start, id = 1, ""
    for number, line in lines(path):
        if not line:
            if sentence:
                yield start, _record(sentence, id)
            sentence, id = [], ""
        elif line.startswith("#"):
            name, equals, value = line[1:].partition("=")
            id = value.strip() if equals and name.strip() == "sent_id" else id
        else:
            cells = line.split("\t")
            if len(cells) != len(CONLLU):
                raise BadRow(
                    f"this line has {len(cells)} columns; in CoNLL-U it must have {len(CONLLU)}, "
                    "separated by tabs",
                    file=path,
                    line=number,
                )
            if "-" in cells[0] or "." in cells[0]:
                continue
            if cells[0] != str(len(sentence) + 1):
                raise BadRow(
                    f"the word {cells[1]!r} has the id {cells[0]!r}; it must be {len(sentence) + 1}",
                    file=path,
                    line=number,
                )
            start = start if sentence else number
            sentence.append((cells[columns[0]], cells[columns[1]], number))
    if sentence:
        yield start, _record(sentence, id)


def _record(sentence: list[tuple[str, str, int]], id: str = "") -> Fields:
    tokens, labels, numbers = (list(column) for column in zip(*sentence, strict=True))
    record: Fields = {"tokens": tokens, "labels": labels, "lines": Lines(numbers)}
    return {**record, "id": id} if id else record


def _number(value: str, name: str, default: int) -> int:
    try:
        return int(value) if value else default
    except ValueError:
        raise BadSetting(
            f"{name} = {value!r}; for CoNLL files it must be the number of a column, such as 0 or -1"
        ) from None


def _cells(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]


def _labels(path: Path, width: int, column: int) -> frozenset[str]:
    """The labels of the lines that cannot be comments."""
    rows = (_cells(line) for _, line in lines(path) if not line.startswith("#"))
    return frozenset(cells[column] for cells in rows if len(cells) == width)


def _is_comment(line: str, cells: list[str], width: int, known: frozenset[str], column: int) -> bool:
    if len(cells) != width:
        return line.startswith("# ")
    return COMMENT.match(line) is not None or bool(known and cells[column] not in known)


def _width(path: Path) -> int:
    """The number of columns of a file: of its first line that cannot be a comment; 0 if there is none."""
    found = (line for _, line in lines(path) if line.strip() and not line.startswith((DOCUMENT, "# ")))
    first = next(found, None)
    if first is None:  # every line may be a comment
        maybe = (line for _, line in lines(path) if line.startswith("# ") and not COMMENT.match(line))
        first = next(maybe, "")
    return len(_cells(first))


def _check_width(width: int, columns: tuple[int, int], path: Path) -> None:
    for column in columns:
        if not -width <= column < width:
            raise BadSetting(
                f"{path} has {width} columns; there is no column {column}; use a number from "
                f"{-width} to {width - 1}"
            )
    if width < 2:
        raise BadSetting(f"{path} has one column; it must have a column of tokens and a column of labels")


def _index(column: str, name: str) -> int:
    if column.lower() not in CONLLU:
        near = nearest(column.lower(), CONLLU)
        hint = f"did you mean {near!r}? " if near else ""
        raise BadSetting(f"{name} = {column!r} is not a column of CoNLL-U; {hint}Known: {', '.join(CONLLU)}")
    return CONLLU.index(column.lower())
