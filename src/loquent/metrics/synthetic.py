"""Scores of synthetic tasks: counting upwards, and naming a date (RL4LMs, arXiv:2210.01241).

Anyone can check them by eye.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from loquent.core.metric import Context, Measured, OneKey, Samples, Share
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.metrics.shared_parts import with_means

DATE = re.compile(r"(?<!\d)[0-9]{4}-[0-9]{2}-[0-9]{2}(?!\d)")
LEGACY_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True, kw_only=True)
class IncreasingNumbersOptions:
    """Options of the metric `increasing_numbers`."""

    min_tokens: int = setting(
        20,
        "the denominator is at least half of this number of words",
        source="2210.01241: the released configuration",
        low=0,
    )
    legacy: bool = setting(False, "read 'nan', 'inf' and the like as numbers, as RL4LMs")


@dataclass(frozen=True, kw_only=True)
class DatesOptions:
    """Options of the metric `dates`."""

    legacy: bool = setting(False, "accept digits before and after a date, as RL4LMs")


@dataclass(frozen=True, eq=False)
class Synthetic(Share, OneKey):
    """Per sample `score(prediction)`; for the corpus the mean."""

    name: str
    score: Callable[[str], float]

    def __call__(self, samples: Samples) -> Measured:
        """Score the predictions; references, prompts and rows are not read."""
        return with_means({self.name: [self.score(text) for text in samples.predictions]})


@takes(IncreasingNumbersOptions)
def increasing_numbers(context: Context, options: IncreasingNumbersOptions) -> Synthetic:
    """How far an answer counts upwards from its first number. References are not read."""
    name = "increasing_numbers-legacy" if options.legacy else "increasing_numbers"
    return Synthetic(name, lambda text: increasing(text, options.min_tokens, options.legacy))


@takes(DatesOptions)
def dates(context: Context, options: DatesOptions) -> Synthetic:
    """1 if an answer contains a date of the form 2022-10-03, else 0. References are not read."""
    date = LEGACY_DATE if options.legacy else DATE
    return Synthetic(
        "dates-legacy" if options.legacy else "dates", lambda text: float(date.search(text) is not None)
    )


def increasing(text: str, min_tokens: int = 20, legacy: bool = False) -> float:
    """The length of the first strictly increasing run of numbers, divided by max(words, min_tokens / 2)."""
    tokens = text.split()
    numbers = [
        number for number in map(_number, tokens) if number is not None and (legacy or math.isfinite(number))
    ]
    if not numbers:
        return 0.0
    run = next((i for i in range(1, len(numbers)) if not numbers[i] > numbers[i - 1]), len(numbers))
    return run / max(len(tokens), min_tokens / 2)


def _number(token: str) -> float | None:
    try:
        return float(token)
    except ValueError:
        return None
