"""DailyDialog (arXiv:1710.03957): the next utterance of a dialogue, with its emotion and its intent.

The published files hold a dialogue a line, utterances ended by `__eou__`; beside them stand files of the acts
(1 inform, 2 question, 3 directive, 4 commissive) and the emotions. A record of the hub has `dialog`, `act`
and `emotion`. Utterance i of a dialogue is a row if `context` utterances stand before it. Utterances keep the
white space around them, as in RL4LMs: "Hi . __eou__ Hello . __eou__" has "Hi . " and " Hello . ".
"""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

from loquent.data.annotated.placed import Placed
from loquent.data.readers import lines
from loquent.errors import BadRow, BadSetting
from loquent.tasks.generation.corpora.dataset import Example, Fields, Form, numbers, texts

END = "<EOU>"
PUBLISHED_END = "__eou__"
SPLITS = ("train", "validation", "test")
LABELS = {"emotion": "emotion", "intent": "act"}  # the field of a row, and the field of a record


def examples(record: Fields, split: str, form: Form) -> list[Example]:
    """A row for each utterance with enough context, with `emotion` and `intent` as lists of one number.

    A built-in record has `responses` too: other answers in place of the last utterance.
    """
    said = texts(record.get("dialog"), "the utterances")
    labels: dict[str, tuple[int, ...]] = {}
    for field, name in LABELS.items():
        if name in record:
            labels[field] = numbers(record[name], f"the numbers in {name!r}")
            if len(labels[field]) != len(said):
                raise ValueError(
                    f"the dialogue has {len(said)} utterances and {len(labels[field])} numbers in {name!r}; "
                    "there must be one for each"
                )
    others = texts(record.get("responses", ()), "the other answers")
    rows = []
    for i in range(form.context, len(said)):
        answers = (said[i], *others) if i == len(said) - 1 else (said[i],)
        rows.append(
            Example(
                {"context": END.join(said[i - form.context : i])},
                tuple(answer + END for answer in answers),
                {field: (values[i],) for field, values in labels.items()},
            )
        )
    return rows


def files(path: Path) -> dict[str, Placed]:
    """The dialogues of the published folder by split.

    Raises:
        BadSetting: the folder has no `dialogues_train.txt`, `dialogues_validation.txt` or
            `dialogues_test.txt`, alone or in a folder named after the split.
    """
    found = {split: _file(path, split, "dialogues") for split in SPLITS}
    if not any(found.values()):
        raise BadSetting(
            f"path = {str(path)!r}: this folder must hold dialogues_train.txt, dialogues_validation.txt and "
            "dialogues_test.txt (also .gz), each also in a folder named after its split"
        )
    return {split: _records(path, split, file) for split, file in found.items() if file}


def _file(path: Path, split: str, name: str) -> Path | None:
    names = [f"{name}_{split}.txt{ending}" for ending in ("", ".gz")]
    return next(
        (file for folder in (path, path / split) for n in names if (file := folder / n).is_file()), None
    )


def _records(path: Path, split: str, file: Path) -> Placed:
    beside = {name: _file(path, split, f"dialogues_{name}") for name in LABELS.values()}
    readers = {name: lines(other) for name, other in beside.items() if other}
    for (number, line), *values in zip_longest(lines(file), *readers.values(), fillvalue=(0, "")):
        if not line.strip():
            why = (
                "there is no dialogue for this line of a file of acts or emotions; both must have a line each"
            )
            raise BadRow(why, file=file, line=number or None)
        record: dict[str, Any] = {"dialog": [part for part in line.split(PUBLISHED_END) if part.strip()]}
        for name, (_, numbers_of_line) in zip(readers, values, strict=True):
            record[name] = _numbers(numbers_of_line, file, number)
        yield (file, number), record


def _numbers(line: str, file: Path, number: int) -> list[int]:
    try:
        return [int(word) for word in line.split()]
    except ValueError as error:
        why = f"the acts or emotions of this dialogue are {line!r:.60}; they must be integers"
        raise BadRow(why, file=file, line=number) from error
