"""The two sentiment classifiers of a task: its labelled training rows in two disjoint halves, and what is trained on each, cached.

A row is labelled when its field `label` is "positive", "pos", 1 or "negative", "neg", 0; its text is the field `text`, or the
prompt and the first reference.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from loquent.errors import BadRow, BadSetting
from loquent.metric import Context
from loquent.metrics.classifier import Classifier
from loquent.metrics.text import joined
from loquent.task import Row, Task

Which = Literal["sentiment", "judge"]

VERSION = 1  # of features and training: a change makes new classifiers
MOST_ROWS = 6_000  # training rows of one classifier, and their characters in all; chosen by the hash of the ids
MOST_CHARACTERS = 4_000_000
LEAST_ROWS = 2  # of each class
POSITIVE, NEGATIVE = ("positive", "pos", "1", "true"), ("negative", "neg", "0", "false")


class Labelled(NamedTuple):
    """One labelled text; `place` is the hash of its row's id, by which halves are made and rows are chosen."""

    place: bytes
    text: str
    positive: bool


def classifier(which: Which, context: Context) -> Classifier:
    """The classifier of the context's task: from the cache, or trained now and put there.

    Raises:
        BadSetting: there is no task, or its training rows have no (or too few) labels. BadRow: a label that is none.
        MissingExtra: it must be trained and scikit-learn is not installed.
    """
    if context.task is None:
        raise BadSetting(f"{which} is trained on the labelled rows of a task, and there is none here; classifier=... names one that is made")
    chosen = half(labelled_rows(context.task), which)
    _check(chosen, which, context.task)
    folder = context.cache / "classifiers" / f"{which}-{fingerprint(chosen)}"
    made = _cached(folder)
    if made is None:
        made = train(which, chosen)
        _keep(made, folder)
    return made


def labelled_rows(task: Task) -> list[Labelled]:
    """The labelled rows of a task's training split, in the order of their ids' hashes; BadRow where a label is none."""
    found = [_labelled(row, task) for row in task.rows("train") if row.fields.get("label") is not None]
    return sorted(found)


def half(rows: Iterable[Labelled], which: Which) -> list[Labelled]:
    """The rows one classifier is trained on: the halves of the two have no row in common."""
    bit = 0 if which == "sentiment" else 1
    chosen: list[Labelled] = []
    characters = 0
    for row in rows:
        if row.place[-1] & 1 != bit:
            continue
        characters += len(row.text)
        if len(chosen) == MOST_ROWS or (characters > MOST_CHARACTERS and chosen):
            break
        chosen.append(row)
    return chosen


def train(which: Which, rows: Sequence[Labelled]) -> Classifier:
    """Train one of the two on labelled texts; the same rows give the same classifier."""
    import numpy as np

    from loquent.metrics import classifier_training

    trained = classifier_training.train_sentiment if which == "sentiment" else classifier_training.train_judge
    return trained([row.text for row in rows], np.array([row.positive for row in rows], dtype=np.bool_))


def fingerprint(rows: Iterable[Labelled]) -> str:
    """A hash of texts, labels and the version of the features: equal rows share a classifier, whatever task they come from."""
    known = hashlib.sha256(f"version {VERSION}".encode())
    for row in rows:
        known.update(json.dumps([row.place.hex(), row.text, row.positive]).encode())
    return known.hexdigest()[:16]


def _labelled(row: Row, task: Task) -> Labelled:
    label = str(row["label"]).lower()
    if label not in POSITIVE + NEGATIVE:
        raise BadRow(f"row {row.id} of {task.identity} has the label {row['label']!r}; 'positive', 'pos', 1 or 'negative', 'neg', 0 are right")
    text = row.fields.get("text")
    if text is None:
        text = joined(row.fields.get("prompt", ""), next(iter(row.fields.get("references", ())), ""))
    return Labelled(hashlib.blake2b(row.id.encode("utf-8", "surrogatepass"), digest_size=16).digest(), text, label in POSITIVE)


def _check(rows: Sequence[Labelled], which: Which, task: Task) -> None:
    positive = sum(row.positive for row in rows)
    if min(positive, len(rows) - positive) >= LEAST_ROWS:
        return
    raise BadSetting(
        f"{which} is trained on labelled training rows of {task.identity}, and its half of them holds {positive} positive and "
        f"{len(rows) - positive} negative ones; at least {LEAST_ROWS} of each are needed, under the field 'label'. "
        "classifier=... names a classifier that is made"
    )


def _cached(folder: Path) -> Classifier | None:
    """What lies in the cache; None where nothing does, or what does is torn (it is then made anew)."""
    try:
        return Classifier.load(folder)
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile):
        return None


def _keep(made: Any, folder: Path) -> None:
    """Write aside and rename; where another process was first, its equal work stays."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix="aside-"))
    try:
        made.save(aside)
        if folder.exists() and _cached(folder) is None:
            shutil.rmtree(folder, ignore_errors=True)
        os.replace(aside, folder)
    except OSError:
        if _cached(folder) is None:
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
