"""Accuracy: whether an answer is correct.

Texts are compared exactly, without the white space at their ends. If a row has `choices` and their `ids`, as
in the task `multiple_choice`, an answer names a choice by its id ("B", "(B)", "B.") or by its text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.core.metric import Context, Measured, Samples, Share
from loquent.core.options import takes
from loquent.core.task import Row
from loquent.metrics.shared_parts import with_means

AROUND = " \t\r\n().:"  # characters that may surround an id


@dataclass(frozen=True, kw_only=True)
class AccuracyOptions:
    """Options of the metric `accuracy`: it has none."""


@dataclass(frozen=True)
class Accuracy(Share):
    """Per sample 1 for a correct answer, else 0; for the corpus the mean.

    A sample without references has no score if its row has no `answer` either.
    """

    name: ClassVar[str] = "accuracy"
    keys: ClassVar[tuple[str, ...]] = ("accuracy",)

    def __call__(self, samples: Samples) -> Measured:
        """Score answers; each reference of a sample is correct."""
        columns = zip(samples.predictions, samples.references, samples.rows, strict=True)
        return with_means({self.name: [_score(text, texts, row) for text, texts, row in columns]})


@takes(AccuracyOptions)
def accuracy(context: Context, options: AccuracyOptions) -> Accuracy:
    """The share of correct answers: the exact text, or the id or the text of a choice."""
    return Accuracy()


def choice(text: str, ids: Sequence[str], choices: Sequence[str]) -> str:
    """The id of the choice that a text names.

    If the text names no choice: the text itself, without the white space at its ends.
    """
    answer = text.strip()
    if answer in choices:
        return ids[list(choices).index(answer)]
    bare = text.strip(AROUND)
    return bare if bare in ids else answer


def _score(text: str, references: Sequence[str], row: Row) -> float | None:
    answer = row.fields.get("answer")
    gold = references or ((answer,) if isinstance(answer, str) else ())
    if not gold:
        return None
    ids, choices = row.fields.get("ids", ()), row.fields.get("choices", ())
    return float(choice(text, ids, choices) in {choice(reference, ids, choices) for reference in gold})
