"""Accuracy: whether an answer is the right one.

Texts are compared as they are, without white space at their ends.

Where a row has `choices` and their `ids`, as the task `multiple_choice` has, an answer names a choice by its
id ("B", "(B)", "B.") or by its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.core.metric import Context, Measured
from loquent.core.options import takes
from loquent.core.task import Row
from loquent.metrics.text import mean

AROUND = " \t\r\n().:"  # what may stand around an id


@dataclass(frozen=True, kw_only=True)
class AccuracyOptions:
    """What the metric `accuracy` may be told: nothing."""


@dataclass(frozen=True)
class Accuracy:
    """Per sample 1 for a right answer, else 0; None without a reference or the row's `answer`.

    For the corpus the mean.
    """

    name: ClassVar[str] = "accuracy"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = ("accuracy",)

    def __call__(
        self,
        predictions: Sequence[str],
        references: Sequence[Sequence[str]],
        prompts: Sequence[str],
        rows: Sequence[Row],
    ) -> Measured:
        """Score answers; any of several references is right."""
        scores = [_one(text, own, row) for text, own, row in zip(predictions, references, rows, strict=True)]
        average = mean(scores)
        return Measured({self.name: scores}, {} if average is None else {self.name: average})


@takes(AccuracyOptions)
def accuracy(context: Context, options: AccuracyOptions) -> Accuracy:
    """The share of answers that are right, word for word; of choices by their id or their text."""
    return Accuracy()


def choice(text: str, ids: Sequence[str], choices: Sequence[str]) -> str:
    """The id of the choice that a text names.

    The text itself, without white space at its ends, where it names none.
    """
    said = text.strip()
    if said in choices:
        return ids[list(choices).index(said)]
    bare = text.strip(AROUND)
    return bare if bare in ids else said


def _one(text: str, references: Sequence[str], row: Row) -> float | None:
    told = row.fields
    answer = told.get("answer")
    right = references or ((answer,) if isinstance(answer, str) else ())
    ids, choices = told.get("ids", ()), told.get("choices", ())
    if not right:
        return None
    return float(choice(text, ids, choices) in {choice(one, ids, choices) for one in right})
