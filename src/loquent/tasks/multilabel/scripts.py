"""A cheap policy of labelling: one ridge regression for each label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.agent import Answer, Question
from loquent.core.settings import setting
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record
from loquent.data.annotated.rows import training_rows
from loquent.data.features.making import make
from loquent.errors import UnknownName
from loquent.metrics.labels.set_scores import micro_f1
from loquent.tasks.multilabel.rows import TERMINATE

WORDS = Record(kind="hashed", dimension=2048, lower=True, characters=(), words=())  # single words
PENALTIES = (0.05, 0.2, 0.6, 1.5)  # for each training row; these and the thresholds are compared on
LEASTS = (0.2, 0.3, 0.4, 0.5)  # validation rows


@dataclass(frozen=True, kw_only=True)
class RidgeOptions:
    """Options of the agent `multilabel/ridge`."""

    features: Record = setting(EMPTY, "the featurizer, as {kind: ..., ...}; empty: 2,048 hashed words")


class Ridge:
    """Gives the labels whose ridge regression on the text's vector is at least a threshold, or the best one.

    The inputs have mean 0 and deviation 1, and the targets are 1 for a label of the text, else 0. Penalty and
    threshold are those with the highest micro F1 on validation rows, or on training rows without these.
    """

    Options: ClassVar[type] = RidgeOptions

    def __init__(self, task: Task, options: RidgeOptions) -> None:
        self.name = "multilabel/ridge"
        rows = training_rows(task, self.name)
        self.features = make(options.features or WORDS)
        self.labels: tuple[str, ...] = task.labels  # type: ignore[attr-defined]  # the task is MultiLabel
        texts = self.features([row["text"] for row in rows]).astype(np.float64)
        self.mean, deviation = texts.mean(0), texts.std(0)
        self.deviation = np.where(deviation > 0, deviation, 1.0)
        right = np.array([[label in row["labels"] for label in self.labels] for row in rows], np.float64)
        judged = _validation_rows(task) or rows
        inputs, seen = (
            self._inputs([row["text"] for row in rows]),
            self._inputs([row["text"] for row in judged]),
        )
        gold, products, best = [row["labels"] for row in judged], inputs.T @ inputs, -1.0
        for penalty in PENALTIES:
            weights = np.linalg.solve(
                products + penalty * len(rows) * np.eye(len(products)), inputs.T @ right
            )
            scores = seen @ weights
            for least in LEASTS:
                value = micro_f1(gold, [self._over(row, least) for row in scores], 1.0)
                if value > best:
                    best, self.weights, self.least = value, weights, least

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One label, or "terminate", per question."""
        fields = [question.observation.fields for question in asked]
        scores = self._inputs([of["text"] for of in fields]) @ self.weights
        named = [self._over(row, self.least) for row in scores]
        return [
            Answer(next((label for label in labels if label not in of["labels"]), TERMINATE))
            for labels, of in zip(named, fields, strict=True)
        ]

    def _inputs(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """float64[n, dimension + 1]: standardised vectors, and 1."""
        vectors = (self.features(texts) - self.mean) / self.deviation
        return np.hstack([vectors, np.ones((len(texts), 1))])

    def _over(self, scores: NDArray[np.float64], least: float) -> tuple[str, ...]:
        """The labels with at least this score, the highest first; without one, the highest alone."""
        order = np.argsort(-scores, kind="stable")
        return tuple(self.labels[i] for i in order[: max(1, int((scores >= least).sum()))])


def _validation_rows(task: Task) -> tuple[Row, ...]:
    try:
        return tuple(task.rows("validation"))
    except UnknownName:
        return ()
