"""Sentences in columns: CoNLL (one token a line, a label in another column) and CoNLL-U. A record is one sentence, at its first line."""

from __future__ import annotations

from pathlib import Path

from loquent.data.readers import Fields, Records, lines
from loquent.errors import BadRow, BadSetting, nearest

DOCUMENT = "-DOCSTART-"  # a line that begins a document in CoNLL-2003; it is no sentence
CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


def conll(path: Path, token: str = "", label: str = "") -> Records:
    """The sentences of a file in columns, parted by tabs where a line has any, else by spaces; empty lines end a sentence.

    Args:
        token, label: numbers of columns, counted from 0, or from the end where negative; "" for the first and the last.

    Raises:
        BadRow: a line has another number of columns than the first. BadSetting: there is no such column.
    """
    wanted = (_number(token, "token_field", 0), _number(label, "label_field", -1))
    width = 0
    sentence: list[tuple[str, str]] = []
    begun = 1
    for number, line in lines(path):
        if not line.strip() or line.startswith(DOCUMENT):
            if sentence:
                yield begun, _record(sentence)
            sentence = []
            continue
        cells = line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]
        width = width or _wide_enough(len(cells), wanted, path)
        if len(cells) != width:
            raise BadRow(f"this line has {len(cells)} columns; the lines before have {width}: {line[:60]!r}", file=path, line=number)
        begun = begun if sentence else number
        sentence.append((cells[wanted[0]], cells[wanted[1]]))
    if sentence:
        yield begun, _record(sentence)


def conllu(path: Path, token: str = "", label: str = "") -> Records:
    """The sentences of a CoNLL-U file: its words by their ids 1, 2, ... (ranges such as 3-4 and empty nodes such as 8.1 are no words).

    Args:
        token, label: names of columns, as in `CONLLU`; "" for form and upos.
    """
    wanted = [_named(name or usual, where) for name, usual, where in ((token, "form", "token_field"), (label, "upos", "label_field"))]
    sentence: list[tuple[str, str]] = []
    begun, id = 1, ""
    for number, line in lines(path):
        if not line:
            if sentence:
                yield begun, _record(sentence, id)
            sentence, id = [], ""
        elif line.startswith("#"):
            name, equals, value = line[1:].partition("=")
            id = value.strip() if equals and name.strip() == "sent_id" else id
        else:
            cells = line.split("\t")
            if len(cells) != len(CONLLU):
                raise BadRow(f"this line has {len(cells)} columns; CoNLL-U has {len(CONLLU)}, parted by tabs", file=path, line=number)
            if "-" in cells[0] or "." in cells[0]:
                continue
            if cells[0] != str(len(sentence) + 1):
                raise BadRow(f"the word {cells[1]!r} has the id {cells[0]!r}; {len(sentence) + 1} is next", file=path, line=number)
            begun = begun if sentence else number
            sentence.append((cells[wanted[0]], cells[wanted[1]]))
    if sentence:
        yield begun, _record(sentence, id)


def _record(sentence: list[tuple[str, str]], id: str = "") -> Fields:
    record: Fields = {"tokens": [token for token, _ in sentence], "labels": [label for _, label in sentence]}
    return {**record, "id": id} if id else record


def _number(given: str, name: str, usual: int) -> int:
    try:
        return int(given) if given else usual
    except ValueError:
        raise BadSetting(f"{name} = {given!r}: the number of a column is right for CoNLL files, such as 0 or -1") from None


def _wide_enough(width: int, wanted: tuple[int, int], path: Path) -> int:
    for column in wanted:
        if not -width <= column < width:
            raise BadSetting(f"{path} has {width} columns; there is no column {column}")
    if width < 2:
        raise BadSetting(f"{path} has one column; a column of tokens and one of labels are needed")
    return width


def _named(given: str, name: str) -> int:
    if given not in CONLLU:
        near = nearest(given, CONLLU)
        raise BadSetting(f"{name} = {given!r} is no column of CoNLL-U; {f'did you mean {near!r}? ' if near else ''}Known: {', '.join(CONLLU)}")
    return CONLLU.index(given)
