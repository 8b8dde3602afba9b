"""Linear classifiers of comments: one logistic regression on word n-grams for each threshold.

A threshold is a label that a comment reaches or exceeds, so labels keep their order. The regressions are
those of the metric `sentiment`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import json_files
from loquent.errors import BadSetting
from loquent.files.atomic import replacing, write_json
from loquent.metrics.sentiment.classifier import Classifier
from loquent.metrics.sentiment.classifier_training import train_sentiment
from loquent.tasks.comments.learned.examples import About, examples, figures, label_names, unseen
from loquent.tasks.comments.task import Comments

NOTE = "comments.json"
ADVICE = "name a folder that learned.linear wrote"


@dataclass(frozen=True, eq=False)
class Linear:
    """A classifier with ordered labels: one `Classifier` for each label but the lowest."""

    labels: tuple[str, ...]
    thresholds: tuple[Classifier, ...]

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """f64[n, labels]: the probability of each label; rows sum to 1."""
        reached = [np.ones(len(texts)), *(np.array(part(texts)) for part in self.thresholds)]
        reached = list(np.minimum.accumulate([*reached, np.zeros(len(texts))]))
        return np.stack([here - above for here, above in pairwise(reached)], axis=1)


def train(
    task: Comments,
    folder: str | Path,
    about: About | None = None,
    *,
    split: str = "train",
    held: str = "test",
) -> dict[str, float]:
    """Train a classifier on the rows of a split and write it to a folder, for `comments/classifier`.

    Returns:
        The `accuracy` and `roc_auc` on the rows of `held`, and their number.

    Raises:
        BadSetting: a split has too few rows. MissingExtra: without the extra "train".
    """
    chosen = About() if about is None else about
    texts, targets = examples(task, split, chosen)
    names = label_names(chosen, targets)
    others, right = unseen(task, held, chosen, names)
    steps = np.unique(targets)[1:]
    trained = Linear(names, tuple(train_sentiment(texts, targets >= step) for step in steps))
    found = figures(trained(others), trained.labels, right, chosen)
    save(Path(folder).expanduser(), trained, {"kind": chosen.kind, **found})
    return found


def save(folder: Path, classifier: Linear, note: dict[str, float | str]) -> None:
    """Write a classifier to a folder, which must not exist or be empty."""
    with replacing(folder) as aside:
        aside.mkdir()
        for number, part in enumerate(classifier.thresholds):
            (aside / str(number)).mkdir()
            part.save(aside / str(number))
        write_json(aside / NOTE, {"labels": list(classifier.labels), **note})


def load(folder: Path) -> Linear:
    """The classifier of a folder; BadSetting where it is damaged or something else."""
    labels = json_files.load_object(folder / NOTE, ADVICE, error=BadSetting).get("labels")
    if not isinstance(labels, list) or len(labels) < 2 or not all(isinstance(name, str) for name in labels):
        raise BadSetting(f"{folder / NOTE}: its labels are {labels!r:.80}; {ADVICE}")
    try:
        thresholds = tuple(Classifier.load(folder / str(number)) for number in range(len(labels) - 1))
    except (OSError, ValueError, KeyError) as error:
        raise BadSetting(f"{folder}: it cannot be read ({error}); {ADVICE}") from error
    return Linear(tuple(labels), thresholds)
