"""The published files of DailyDialog, as `dialogues` describes them."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

from loquent.data.columns import Placed
from loquent.data.readers import lines
from loquent.errors import BadRow, BadSetting
from loquent.tasks.generation.corpora.dialogues import LABELS

PUBLISHED_END = "__eou__"
SPLITS = ("train", "validation", "test")


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
