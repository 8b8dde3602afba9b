"""Penalties: scores of at most 0, so that a positive weight makes the fault costly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.errors import BadSetting
from loquent.metric import Context, Measured
from loquent.metrics.diversity import ngrams
from loquent.metrics.options import takes
from loquent.metrics.text import is_punctuation, mean, words
from loquent.settings import setting
from loquent.task import Row


@dataclass(frozen=True, kw_only=True)
class RepetitionOptions:
    """What the reward `repetition` may be told."""

    n: int = setting(3, "the length of the n-grams, in words", low=1)


@dataclass(frozen=True, kw_only=True)
class LengthOptions:
    """What the reward `length` may be told."""

    low: int = setting(0, "words an answer should have at least, punctuation not counted", low=0)
    high: int | None = setting(None, "words it should have at most; none: any number", low=0)

    def __post_init__(self) -> None:
        if self.high is not None and self.high < self.low:
            raise BadSetting(f"high = {self.high} is below low = {self.low}")


@dataclass(frozen=True)
class Repetition:
    """Minus the share of an answer's n-grams that stood in it before; no score for an answer without an n-gram."""

    n: int = 3
    name: ClassVar[str] = "repetition"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = ("repetition",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score the answers alone."""
        return _measured(self.name, [self._one(text) for text in predictions])

    def _one(self, text: str) -> float | None:
        grams = list(ngrams(words(text), self.n))
        return (len(set(grams)) - len(grams)) / len(grams) if grams else None


@dataclass(frozen=True)
class Length:
    """Minus the words by which an answer misses the range from `low` to `high`."""

    low: int = 0
    high: float = math.inf
    name: ClassVar[str] = "length"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True
    keys: ClassVar[tuple[str, ...]] = ("length",)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score the answers alone."""
        counts = [sum(not is_punctuation(word) for word in words(text)) for text in predictions]
        return _measured(self.name, [-float(max(self.low - count, count - self.high, 0)) for count in counts])


@takes(RepetitionOptions)
def repetition(context: Context, options: RepetitionOptions) -> Repetition:
    """The registered reward `repetition`."""
    return Repetition(options.n)


@takes(LengthOptions)
def length(context: Context, options: LengthOptions) -> Length:
    """The registered reward `length`.

    Raises:
        BadSetting: the range is empty, or has no end at all (then nothing would be penalised).
    """
    if not options.low and options.high is None:
        raise BadSetting("length needs low, high or both: without them no answer is too short or too long")
    return Length(options.low, math.inf if options.high is None else options.high)


def _measured(name: str, scores: Sequence[float | None]) -> Measured:
    average = mean(scores)
    return Measured({name: list(scores)}, {} if average is None else {name: average})
