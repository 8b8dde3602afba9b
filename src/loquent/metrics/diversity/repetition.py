"""Shares of n-grams that an answer repeats (the metric `repetition_rate`) or copies from a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.core.metric import SHARES, Context, Measured, Range, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.metrics.diversity.diversity import ngrams
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import words


@dataclass(frozen=True, kw_only=True)
class RepetitionRateOptions:
    """Options of the metric `repetition_rate`."""

    n: int = setting(3, "the length of the n-grams, in words and punctuation marks", low=1)


@dataclass(frozen=True)
class RepetitionRate:
    """Per sample 1 - types / tokens of its n-grams; for the corpus the mean.

    An answer without an n-gram has no score.
    """

    n: int = 3
    name: ClassVar[str] = "repetition_rate"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = False
    range: ClassVar[Range] = SHARES
    keys: ClassVar[tuple[str, ...]] = ("repetition_rate",)

    @property
    def penalties(self) -> dict[str, tuple[str, dict[str, int]]]:
        """The reward `repetition` with the same n-grams."""
        return {self.name: ("repetition", {"n": self.n})}

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions; references, prompts and rows are not read."""
        return with_means({self.name: [repeated_share(words(text), self.n) for text in samples.predictions]})


@takes(RepetitionRateOptions)
def repetition_rate(context: Context, options: RepetitionRateOptions) -> RepetitionRate:
    """The share of an answer's n-grams that repeat an earlier one; the reward `repetition` is its negative.

    References are not read.
    """
    return RepetitionRate(options.n)


def repeated_share(tokens: Sequence[str], n: int) -> float | None:
    """The share of a text's n-grams that repeat an earlier one; None for a text without an n-gram."""
    grams = list(ngrams(tokens, n))
    return (len(grams) - len(set(grams))) / len(grams) if grams else None


def copied_share(tokens: Sequence[str], source: Sequence[str], n: int) -> float | None:
    """The share of a text's n-grams that occur in `source`; None for a text without an n-gram."""
    grams, source_grams = list(ngrams(tokens, n)), set(ngrams(source, n))
    return sum(gram in source_grams for gram in grams) / len(grams) if grams else None
