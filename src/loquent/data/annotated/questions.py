"""Questions with choices: the checks of a record (QASC, ARC, or a flat form)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core.values import Record
from loquent.data.annotated.checks import Unlabelled
from loquent.data.annotated.sentences import weight_field
from loquent.data.columns import field

FACTS = ("fact1", "fact2")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def check(record: Mapping[str, Any]) -> Record:
    """The row's fields `question`, `facts`, `choices`, `ids` and `answer`.

    A record has one of two forms:
        QASC and ARC: `question` holds `stem` and `choices`, `answerKey` is the answer, and the facts are
            `fact1` and `fact2`, or `para`. On the hub the choices are two lists, `text` and `label`.
        Flat: `question`, `choices`, `answer` (an id), and optionally `facts` (a list, or one text). The
            choices are a mapping from ids to texts, pairs (id, text), or texts with the ids in `ids` (by
            default A, B, ...).

    Raises:
        Unlabelled: there is no answer. ValueError: another field is missing or wrong.
    """
    question = field(record, "question")
    nested = isinstance(question, Mapping)
    stem = field(question, "stem") if nested else question
    if not isinstance(stem, str) or not stem.strip():
        raise ValueError(f"the question is {stem!r:.60}; it must be a text that is not empty")
    pairs = _pairs(field(question if nested else record, "choices"), record.get("ids"))
    ids = [id for id, _ in pairs]
    if not pairs:
        raise ValueError("the question has no choice; it must have at least one")
    if twice := next((id for id in ids if ids.count(id) > 1), None):
        raise ValueError(f"the id {twice!r} belongs to two choices; each choice must have a different id")
    key = "answerKey" if nested or "answerKey" in record else "answer"
    try:
        answer = field(record, key)
    except ValueError as error:
        raise Unlabelled(str(error)) from error
    if answer in (None, ""):
        raise Unlabelled(f"the answer ({key!r}) is {answer!r}; it must be one of {', '.join(ids)}")
    if answer not in ids:
        raise ValueError(f"the answer is {answer!r:.60}; it must be one of the choices {', '.join(ids)}")
    texts = tuple(text for _, text in pairs)
    return Record(
        question=stem,
        facts=_facts(record),
        choices=texts,
        ids=tuple(ids),
        answer=answer,
        **weight_field(record),
    )


def _pairs(choices: Any, labels: Any = None) -> list[tuple[str, str]]:
    """The choices as pairs (id, text); `labels` holds their ids if the choices are texts alone."""
    if labels is not None:
        choices = {"text": choices, "label": labels}
    if isinstance(choices, Mapping) and set(choices) == {"text", "label"}:
        texts, ids = choices["text"], choices["label"]
        if not isinstance(texts, list | tuple) or not isinstance(ids, list | tuple) or len(texts) != len(ids):
            raise ValueError(
                "the choices' 'text' and 'label' do not match; they must be two lists of the same length"
            )
        pairs = list(zip(ids, texts, strict=True))
    elif isinstance(choices, Mapping):
        pairs = list(choices.items())
    elif isinstance(choices, list | tuple):
        pairs = [_pair(item, index) for index, item in enumerate(choices)]
    else:
        raise ValueError(
            f"the choices are {choices!r:.60}; they must be a list, or a mapping from ids to texts"
        )
    for id, text in pairs:
        if not isinstance(id, str) or not id or not isinstance(text, str) or not text.strip():
            raise ValueError(
                f"the choice {id!r:.30} is {text!r:.60}; the id and the text must be texts that are not empty"
            )
    return pairs


def _pair(item: Any, index: int) -> tuple[Any, Any]:
    if isinstance(item, Mapping):
        return field(item, "label"), field(item, "text")
    if isinstance(item, list | tuple):
        return tuple(item) if len(item) == 2 else (item, item)
    return (LETTERS[index] if index < len(LETTERS) else str(index + 1)), item


def _facts(record: Mapping[str, Any]) -> tuple[str, ...]:
    value = record.get("facts", record.get("para"))
    if value is None:
        value = [record[name] for name in FACTS if name in record]
    facts = [value] if isinstance(value, str) else value
    if not isinstance(facts, list | tuple) or not all(isinstance(fact, str) for fact in facts):
        raise ValueError(f"the facts are {value!r:.60}; they must be a list of texts")
    return tuple(facts)
