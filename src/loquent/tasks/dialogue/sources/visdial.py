"""Files in the form of VisDial v0.5 and v1.0 (visualdialog.org), and recorded progress for them.

v1.0 holds `data` with the lists `questions`, `answers` and `dialogs`, whose rounds have numbers of both
lists. v0.5, as ILQL's release uses it, is a list of dialogues with a `caption` and rounds with texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core import schema
from loquent.core.guards import json_files
from loquent.core.guards.json_files import show
from loquent.core.guards.opening import whole
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.sources import Splits, with_validation
from loquent.errors import BadRow, BadSetting
from loquent.tasks.dialogue.game.rules import TURNS

# 100 numbers in each round of v1.0, most of the file; they are dropped before it is parsed
CANDIDATES = re.compile(rb'"answer_options"\s*:\s*\[[0-9,\s]*\]')
MOST_BYTES = 1 << 31
PROGRESS = "_rank_reward_cache1.json"  # the ending of files with recorded progress
NAMES = {"train": ("train",), "validation": ("val", "validation"), "test": ("test",)}


@dataclass(frozen=True)
class _Round:
    """The texts of a round or their numbers; the last round of the published test file has no answer."""

    question: str | int | None = None
    answer: str | int | None = None


@dataclass(frozen=True)
class _Dialogue:
    caption: str
    dialog: tuple[_Round, ...]
    image_id: str | int | None = None


@dataclass(frozen=True)
class _Data:
    dialogs: tuple[_Dialogue, ...]
    questions: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class _File:
    data: _Data


FORM = schema.check_of(tuple[_Dialogue, ...] | _File, True)  # of v0.5 and of v1.0


def splits(path: Path, progress: str = "") -> Splits:
    """The rows of a file (all train) or of a folder with a file for each split.

    Without validation, a fifth of train becomes it.

    Raises:
        BadRow: a file cannot be read, or a dialogue is bad; names file and place.
        BadSetting: there is no file at the path, or no progress for a split.
    """
    if not path.is_file() and not path.is_dir():
        raise BadSetting(f"path = {str(path)!r}: there is no such file or folder")
    files = {"train": path} if path.is_file() else _files(path)
    found = {split: _rows(split, file, progress) for split, file in files.items()}
    return with_validation({split: rows for split, rows in found.items() if rows}, place=path)


def read(path: Path) -> list[dict[str, Any]]:
    """The dialogues of a file: caption, image_id (or None), and dialog, pairs of question and answer."""
    try:
        value = json_files.loads(CANDIDATES.sub(b'"answer_options":0', _bytes(path)))
    except ValueError as error:
        raise BadRow(f"this file cannot be read as JSON ({error})", file=path) from error
    try:
        content = FORM(value)
    except ValueError as error:
        place = "dialogues" if isinstance(value, list) else ""
        raise BadRow(schema.message_of(error, place), file=path) from error
    data = content.data if isinstance(content, _File) else _Data(content)
    return [_dialogue(path, number, one, data) for number, one in enumerate(data.dialogs)]


def _files(folder: Path) -> dict[str, Path]:
    """The file of each split; those of dense annotations, which hold no dialogues, are left out."""
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()):
        name = path.name.lower()
        if not name.endswith((".json", ".json.gz")) or "dense" in name:
            continue
        split = next((split for split, words in NAMES.items() if words[0] in name), None)
        if split is None:
            continue
        if split in found:
            raise BadSetting(
                f"path = {str(folder)!r}: {found[split].name} and {path.name} both hold the split {split!r}; "
                "keep one file per split"
            )
        found[split] = path
    if not found:
        raise BadSetting(f"path = {str(folder)!r}: there is no JSON file with train, val or test in its name")
    return found


def _rows(split: str, file: Path, progress: str) -> tuple[Row, ...]:
    dialogues = read(file)
    changes = recorded_progress(Path(progress).expanduser(), split, len(dialogues)) if progress else None
    rows = []
    for number, fields in enumerate(dialogues):
        extra = {} if changes is None else {"progress": changes[number]}
        rows.append(Row(f"{split}-{number}", Record({**fields, "file": split, "image": number, **extra})))
    return tuple(rows)


def progress_file(split: str) -> str:
    """The name of the file with the recorded progress of a file's dialogues."""
    return NAMES[split][0] + PROGRESS


def recorded_progress(folder: Path, split: str, count: int) -> list[tuple[float, ...]]:
    """Per dialogue the percentile before the first question and its change with each answer.

    Raises:
        BadSetting: the folder has no file of this split, or another number of dialogues.
        BadRow: the file holds something else than lists of 11 finite numbers.
    """
    names = [f"{name}{PROGRESS}" for name in NAMES[split]]
    file = next((folder / name for name in names if (folder / name).is_file()), None)
    if file is None:
        raise BadSetting(f"progress = {str(folder)!r}: there is no file {' or '.join(names)}")
    values = json_files.load(file, error=BadSetting)
    if not isinstance(values, list) or len(values) != count:
        has = len(values) if isinstance(values, list) else show(values)
        raise BadSetting(f"{file}: it has {has} entries; it must have one for each of {count:,} dialogues")
    try:
        found: tuple[tuple[float, ...], ...] = schema.check_of(tuple[tuple[float, ...], ...])(values)
    except ValueError as error:
        raise BadRow(f"entries{error}", file=file) from error
    for number, entry in enumerate(found):
        if len(entry) != TURNS + 1:
            what = f"entries[{number}] has {len(entry)} numbers"
            raise BadRow(f"{what}; it must be a list of {TURNS + 1} finite numbers", file=file)
    return [tuple(map(float, entry)) for entry in found]


def _dialogue(path: Path, number: int, one: _Dialogue, data: _Data) -> dict[str, Any]:
    pairs = []
    for turn, entry in enumerate(one.dialog):
        if entry.answer is None:
            continue
        where = f"dialogue {number}, round {turn}"
        question = _text(path, where, "question", entry.question, data.questions).strip()
        question = question if question.endswith("?") else f"{question}?"
        pairs.append((question, _text(path, where, "answer", entry.answer, data.answers)))
    return {"caption": one.caption.strip(), "image_id": one.image_id, "dialog": tuple(pairs)}


def _text(path: Path, where: str, name: str, value: Any, pool: Sequence[str]) -> str:
    """The text of a question or an answer as the file has it: itself, or its number in the file's list."""
    if isinstance(value, int) and 0 <= value < len(pool):
        value = pool[value]
    if not isinstance(value, str) or not value.strip():
        raise BadRow(
            f"{where}: {name} is {show(value)}; it must be a text, or a number of the file's list",
            file=path,
        )
    return value


def _bytes(path: Path) -> bytes:
    try:
        return whole(path, MOST_BYTES)
    except OSError as error:
        raise BadRow(f"this file cannot be read ({error})", file=path) from error
