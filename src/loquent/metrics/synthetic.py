"""Scores of made-up aims that anyone can check by eye: counting upwards, and naming a date (RL4LMs, arXiv:2210.01241)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.metric import Context, Measured
from loquent.metrics.options import takes
from loquent.metrics.text import mean
from loquent.settings import setting
from loquent.task import Row

DATE = re.compile(r"(?<!\d)[0-9]{4}-[0-9]{2}-[0-9]{2}(?!\d)")
LEGACY_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, kw_only=True)
class IncreasingNumbersOptions:
    """What the metric `increasing_numbers` may be told."""

    min_tokens: int = setting(
        20, "an answer of fewer than half as many words counts as of so many", source="2210.01241: the released configuration", low=0
    )
    legacy: bool = setting(False, "'nan', 'inf' and the like are numbers, as in RL4LMs")


@dataclass(frozen=True, kw_only=True)
class DatesOptions:
    """What the metric `dates` may be told."""

    legacy: bool = setting(False, "digits may stand before and behind a date, as in RL4LMs")


@dataclass(frozen=True, eq=False)
class Synthetic:
    """Per sample what `score` says of the answer alone; for the corpus the mean."""

    name: str
    score: Callable[[str], float]
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool | None] = True

    @property
    def keys(self) -> tuple[str, ...]:
        """The one key this metric gives: its name."""
        return (self.name,)

    def __call__(self, predictions: Sequence[str], references: Sequence[Sequence[str]], prompts: Sequence[str], rows: Sequence[Row]) -> Measured:
        """Score the predictions alone."""
        scores: list[float | None] = [self.score(text) for text in predictions]
        average = mean(scores)
        return Measured({self.name: scores}, {} if average is None else {self.name: average})


@takes(IncreasingNumbersOptions)
def increasing_numbers(context: Context, options: IncreasingNumbersOptions) -> Synthetic:
    """How far an answer counts upwards from its first number on. No reference is read."""
    name = "increasing_numbers-legacy" if options.legacy else "increasing_numbers"
    return Synthetic(name, lambda text: increasing(text, options.min_tokens, options.legacy))


@takes(DatesOptions)
def dates(context: Context, options: DatesOptions) -> Synthetic:
    """1 where an answer holds a date of the form 2022-10-03, else 0. No reference is read."""
    date = LEGACY_DATE if options.legacy else DATE
    return Synthetic("dates-legacy" if options.legacy else "dates", lambda text: float(date.search(text) is not None))


def increasing(text: str, min_tokens: int = 20, legacy: bool = False) -> float:
    """The length of the first strictly increasing run among a text's numbers, over its words, or half of `min_tokens` if that is more."""
    tokens = text.split()
    numbers = [number for number in map(_number, tokens) if number is not None and (legacy or math.isfinite(number))]
    if not numbers:
        return 0.0
    run = next((i for i in range(1, len(numbers)) if not numbers[i] > numbers[i - 1]), len(numbers))
    return run / max(len(tokens), min_tokens / 2)


def _number(token: str) -> float | None:
    try:
        return float(token)
    except ValueError:
        return None
