"""The two sentiment classifiers of a task.

Each is trained on one half of the labelled training rows, and cached. The halves share no text: pieces of
one source text stand in the same half, and so do rows with equal texts. Training rows whose text stands in
validation or test are left out, so that no classifier scores a text that it has learned.

A row has a label if its field `label` is "positive", "pos", 1 or "negative", "neg", 0. Its text is the field
`text`, or the prompt and the first reference. Its field `source_id`, if it has one, names the text it is a
piece of.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from loquent.core.metric import Context
from loquent.core.task import Row, Task
from loquent.data import content
from loquent.errors import BadRow, BadSetting, UnknownName
from loquent.metrics.judges import card
from loquent.metrics.judges.linear import Classifier, Linear
from loquent.metrics.text import join_prompt

Kind = Literal["sentiment", "judge"]

VERSION = 1  # of features and training; a change makes new classifiers
# limits of one classifier's training rows, which are chosen by the hash of their ids
MOST_ROWS = 6_000
MOST_CHARACTERS = 4_000_000
LEAST_ROWS = 2  # of each class
POSITIVE, NEGATIVE = ("positive", "pos", "1", "true"), ("negative", "neg", "0", "false")


class Labelled(NamedTuple):
    """A text with its label. The hash `place` of the row's id decides the order, `group` decides the half."""

    place: bytes
    text: str
    positive: bool
    group: bytes


def classifier(kind: Kind, context: Context, most: int = 0) -> Classifier:
    """The classifier of the context's task: from the cache, or trained now and written to the cache.

    Args:
        most: the most rows to learn from, chosen by the hash of their ids; 0: all.

    Raises:
        BadSetting: the context has no task, or its training rows have no labels or too few.
        BadRow: a label has another value than the allowed ones.
        MissingExtra: the classifier must be trained, and scikit-learn is not installed.
    """
    if context.task is None:
        raise BadSetting(
            f"{kind} is trained on the labelled rows of a task, and there is no task here. Name a "
            "trained classifier with classifier=..."
        )
    rows = half(labelled_rows(context.task), kind)[: most or None]
    _check(rows, kind, context.task)
    folder = context.cache / "classifiers" / f"{kind}-{fingerprint(rows)}"
    return card.load_or_make(folder, _load, lambda: train(kind, rows), _save)


def labelled_rows(task: Task) -> Sequence[Labelled]:
    """The labelled rows of a task's training split, in the order of their ids' hashes.

    Rows whose text stands in validation or test are left out.

    Raises:
        BadRow: a label has another value than the allowed ones.
    """
    parts = [_rows(task, split) for split in ("validation", "test")]
    return _labelled_rows(task.identity, task.rows("train"), *parts)


@content.kept_of_rows(2)
def _labelled_rows(task: str, train: Sequence[Row], *parts: Sequence[Row]) -> Sequence[Labelled]:
    held_out = {same_text(row) for part in parts for row in part}
    rows = [row for row in train if row.fields.get("label") is not None]
    groups = _groups(rows)
    return tuple(
        sorted(_labelled(row, task, groups[row.id]) for row in rows if same_text(row) not in held_out)
    )


def half(rows: Iterable[Labelled], kind: Kind) -> list[Labelled]:
    """The training rows of one classifier. The two classifiers have no text in common."""
    bit = 0 if kind == "sentiment" else 1
    chosen: list[Labelled] = []
    characters = 0
    for row in rows:
        if row.group[-1] & 1 != bit:
            continue
        characters += len(row.text)
        if len(chosen) == MOST_ROWS or (characters > MOST_CHARACTERS and chosen):
            break
        chosen.append(row)
    return chosen


def train(kind: Kind, rows: Sequence[Labelled]) -> Classifier:
    """Train a classifier on labelled texts; the same rows give the same classifier."""
    import numpy as np

    from loquent.metrics.judges import linear_training

    learner = linear_training.train_sentiment if kind == "sentiment" else linear_training.train_judge
    return learner([row.text for row in rows], np.array([row.positive for row in rows], dtype=np.bool_))


def fingerprint(rows: Iterable[Labelled]) -> str:
    """A hash of the texts, the labels and `VERSION`. Equal rows of different tasks share a classifier."""
    digest = hashlib.sha256(f"version {VERSION}".encode())
    for row in rows:
        digest.update(json.dumps([row.place.hex(), row.text, row.positive]).encode())
    return digest.hexdigest()[:16]


def same_text(row: Row) -> str:
    """The text of a row without case and spacing. Rows with equal results count as the same text."""
    return " ".join(_text(row).casefold().split())


def _rows(task: Task, split: str) -> Sequence[Row]:
    """The rows of a split that a task may lack."""
    with contextlib.suppress(UnknownName):
        return task.rows(split)
    return ()


def _groups(rows: Sequence[Row]) -> dict[str, bytes]:
    """The group of each row, by row id: the smallest hash among all rows that share a text with it.

    Rows share a text if they are pieces of one source text, if their texts are equal, or through other rows.
    """
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    for row in rows:
        parent[root(f"text {same_text(row)}")] = root(f"source {_source(row)}")
    groups: dict[str, bytes] = {}
    for row in rows:
        key = root(f"source {_source(row)}")
        groups[key] = min(groups.get(key, _place(_source(row))), _place(_source(row)))
    return {row.id: groups[root(f"source {_source(row)}")] for row in rows}


def _source(row: Row) -> str:
    return str(row.fields.get("source_id", row.id))


def _place(id: str) -> bytes:
    return hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _text(row: Row) -> str:
    text = row.fields.get("text")
    if text is None:
        text = join_prompt(row.fields.get("prompt", ""), next(iter(row.fields.get("references", ())), ""))
    return str(text)


def _labelled(row: Row, task: str, group: bytes) -> Labelled:
    label = str(row["label"]).lower()
    if label not in POSITIVE + NEGATIVE:
        raise BadRow(
            f"row {row.id} of {task} has the label {row['label']!r}; 'positive', 'pos', 1 "
            "or 'negative', 'neg', 0 are allowed"
        )
    return Labelled(_place(row.id), _text(row), label in POSITIVE, group)


def _check(rows: Sequence[Labelled], kind: Kind, task: Task) -> None:
    positive = sum(row.positive for row in rows)
    if min(positive, len(rows) - positive) >= LEAST_ROWS:
        return
    raise BadSetting(
        f"{kind} is trained on labelled training rows of {task.identity} whose text is not in "
        f"validation or test, and its half of them has "
        f"{positive} positive and {len(rows) - positive} negative rows; at least {LEAST_ROWS} of "
        "each are needed. Add labels under the field 'label', or name a trained classifier with "
        "classifier=..."
    )


def _load(folder: Path) -> Classifier:
    """The classifier of a folder; BadSetting if there is none, or its files are damaged."""
    return Linear.load(folder).thresholds[0]


def _save(folder: Path, trained: Classifier) -> None:
    Linear(("negative", "positive"), (trained,)).save(folder)
