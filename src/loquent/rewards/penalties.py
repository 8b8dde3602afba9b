"""Penalties: scores of at most 0. With a positive weight, the fault costs reward."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from loquent.core.metric import PENALTIES, Context, Measured, Range, Samples
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.errors import BadSetting
from loquent.metrics.diversity.repetition import repeated_share
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import without_punctuation, words


@dataclass(frozen=True, kw_only=True)
class RepetitionOptions:
    """The options of the reward `repetition`."""

    n: int = setting(3, "the length of the n-grams in words", low=1)


@dataclass(frozen=True, kw_only=True)
class LengthOptions:
    """The options of the reward `length`."""

    low: int = setting(0, "the lowest number of words without a penalty; punctuation is not counted", low=0)
    high: int | None = setting(None, "the highest number of words without a penalty; none: no limit", low=0)

    def __post_init__(self) -> None:
        if self.high is not None and self.high < self.low:
            raise BadSetting(f"high = {self.high} is below low = {self.low}; high must be at least low")


@dataclass(frozen=True)
class Repetition:
    """Minus the share of an answer's n-grams that repeat an earlier n-gram of it; None without an n-gram."""

    n: int = 3
    name: ClassVar[str] = "repetition"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[Range] = PENALTIES
    keys: ClassVar[tuple[str, ...]] = ("repetition",)

    def __call__(self, samples: Samples) -> Measured:
        """Score the answers; prompts, references and rows are not used."""
        return with_means({self.name: [self._score(text) for text in samples.predictions]})

    def _score(self, text: str) -> float | None:
        share = repeated_share(words(text), self.n)
        return None if share is None else 0.0 - share


@dataclass(frozen=True)
class Length:
    """Minus the number of words by which an answer is shorter than `low` or longer than `high`."""

    low: int = 0
    high: float = math.inf
    name: ClassVar[str] = "length"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    range: ClassVar[Range] = PENALTIES
    keys: ClassVar[tuple[str, ...]] = ("length",)

    def __call__(self, samples: Samples) -> Measured:
        """Score the answers; prompts, references and rows are not used."""
        counts = [len(without_punctuation(words(text))) for text in samples.predictions]
        return with_means(
            {self.name: [-float(max(self.low - count, count - self.high, 0)) for count in counts]}
        )


@takes(RepetitionOptions)
def repetition(context: Context, options: RepetitionOptions) -> Repetition:
    """Minus the share of an answer's n-grams that repeat an earlier one of it."""
    return Repetition(options.n)


@takes(LengthOptions)
def length(context: Context, options: LengthOptions) -> Length:
    """Minus the number of words by which an answer is shorter than `low` or longer than `high`.

    Raises:
        BadSetting: the range is empty, or neither end is set, so nothing would be penalised.
    """
    if not options.low and options.high is None:
        raise BadSetting(
            "length has neither low nor high, so it would penalise nothing; set low, high or both"
        )
    return Length(options.low, math.inf if options.high is None else options.high)
