"""Questions with choices: what a record must hold (QASC's, ARC's and a flat form), and the files that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loquent.data.annotated.placed import Placed, Unlabelled, at, files
from loquent.data.annotated.sentences import weighted
from loquent.data.columns import field
from loquent.data.readers import jsonl
from loquent.errors import BadSetting
from loquent.values import Record

ENDINGS = (".jsonl",)
FACTS = ("fact1", "fact2")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def check(record: Mapping[str, Any]) -> Record:
    """The row's fields `question`, `facts`, `choices`, `ids` and `answer`; ValueError otherwise.

    Three forms are read. QASC and ARC: `question` holds `stem` and `choices`, the answer is `answerKey`, facts are `fact1` and
    `fact2` or `para`; on the hub the choices are two lists, `text` and `label`. Flat: `question`, `choices` (a mapping from ids to
    texts, pairs of both, or texts, then named by `ids` or A, B, ...), `answer` (an id), and maybe `facts` (a list, or one text).
    """
    asked = field(record, "question")
    nested = isinstance(asked, Mapping)
    stem = field(asked, "stem") if nested else asked
    if not isinstance(stem, str) or not stem.strip():
        raise ValueError(f"the question is {stem!r:.60}; a text that is not empty is right")
    pairs = _pairs(field(asked if nested else record, "choices"), record.get("ids"))
    ids = [id for id, _ in pairs]
    if not pairs:
        raise ValueError("the question has no choice")
    if twice := next((id for id in ids if ids.count(id) > 1), None):
        raise ValueError(f"the id {twice!r} stands for two choices")
    key = "answerKey" if nested or "answerKey" in record else "answer"
    try:
        answer = field(record, key)
    except ValueError as error:
        raise Unlabelled(str(error)) from error
    if answer in (None, ""):
        raise Unlabelled(f"the answer ({key!r}) is {answer!r}")
    if answer not in ids:
        raise ValueError(f"the answer {answer!r:.60} is none of the choices {', '.join(ids)}")
    texts = tuple(text for _, text in pairs)
    return Record(question=stem, facts=_facts(record), choices=texts, ids=tuple(ids), answer=answer, **weighted(record))


def read(path: Path) -> dict[str, Placed]:
    """The questions of a file of JSON lines, or of a folder with one for each split."""
    if path.is_dir():
        return {split: at(file, jsonl(file)) for split, file in files(path, ENDINGS).items()}
    if not path.name.lower().removesuffix(".gz").endswith(ENDINGS):
        raise BadSetting(f"{path}: no reader for this kind of file; {', '.join(ENDINGS)} is known, also with .gz")
    return {"": at(path, jsonl(path))}


def _pairs(given: Any, named: Any = None) -> list[tuple[str, str]]:
    """The choices as (id, text); `named` are their ids where the choices are texts."""
    if named is not None:
        given = {"text": given, "label": named}
    if isinstance(given, Mapping) and set(given) == {"text", "label"}:
        texts, ids = given["text"], given["label"]
        if not isinstance(texts, list | tuple) or not isinstance(ids, list | tuple) or len(texts) != len(ids):
            raise ValueError("the choices' 'text' and 'label' are two lists of one length")
        pairs = list(zip(ids, texts, strict=True))
    elif isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, list | tuple):
        pairs = [_pair(item, place) for place, item in enumerate(given)]
    else:
        raise ValueError(f"the choices are {given!r:.60}; a list, or a mapping from ids to texts, is right")
    for id, text in pairs:
        if not isinstance(id, str) or not id or not isinstance(text, str) or not text.strip():
            raise ValueError(f"the choice {id!r:.30} is {text!r:.60}; an id and a text, neither of them empty, are right")
    return pairs


def _pair(item: Any, place: int) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        return field(item, "label"), field(item, "text")
    if isinstance(item, list | tuple):
        return tuple(item) if len(item) == 2 else (item, item)
    return (LETTERS[place] if place < len(LETTERS) else str(place + 1)), item


def _facts(record: Mapping[str, Any]) -> tuple[str, ...]:
    given = record.get("facts", record.get("para"))
    if given is None:
        given = [record[name] for name in FACTS if name in record]
    facts = [given] if isinstance(given, str) else given
    if not isinstance(facts, list | tuple) or not all(isinstance(fact, str) for fact in facts):
        raise ValueError(f"the facts are {given!r:.60}; a list of texts is right")
    return tuple(facts)
