"""The repetition rate of an answer: the share of its n-grams that stood in it before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.diversity import ngrams
from loquent.metrics.options import takes
from loquent.metrics.text import mean, words
from loquent.settings import setting
from loquent.task import Row


@dataclass(frozen=True, kw_only=True)
class RepetitionRateOptions:
    """What the metric `repetition_rate` may be told."""

    n: int = setting(3, "the length of the n-grams, in words and punctuation marks", low=1)


@dataclass(frozen=True)
class RepetitionRate:
    """Per sample 1 - types / tokens of its n-grams, None for an answer without one; for the corpus their mean."""

    n: int = 3
    name: ClassVar[str] = "repetition_rate"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False
    keys: ClassVar[tuple[str, ...]] = ("repetition_rate",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Measure the predictions alone."""
        scores = [rate(words(text), self.n) for text in predictions]
        average = mean(scores)
        return Measured({self.name: scores}, {} if average is None else {self.name: average})


@takes(RepetitionRateOptions)
def repetition_rate(context: Context, options: RepetitionRateOptions) -> RepetitionRate:
    """The share of an answer's n-grams that stood in it before; the reward `repetition` is its negative. No reference is read."""
    return RepetitionRate(options.n)


def rate(text: Sequence[str], n: int) -> float | None:
    """The share of a text's n-grams that stood in it before; None where it has none."""
    grams = list(ngrams(text, n))
    return (len(grams) - len(set(grams))) / len(grams) if grams else None
