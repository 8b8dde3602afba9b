"""Intervals over seeds: the mean of a few runs with the 95 % interval of Student's t, and comparisons decided
by such intervals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import mean, stdev
from typing import Any

LEVEL = 0.95
SPREADLESS = 1e-12  # the share of the largest number below which a deviation is rounding


@dataclass(frozen=True)
class Interval:
    """A mean with its interval; `low` and `high` are None where the numbers say nothing about their spread:
    one alone, or equal ones.
    """

    mean: float
    low: float | None
    high: float | None
    deviation: float | None
    n: int

    def as_json(self) -> dict[str, Any]:
        """All of it by name."""
        return {
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "deviation": self.deviation,
            "n": self.n,
        }


def interval(numbers: Sequence[float], level: float = LEVEL) -> Interval:
    """The mean of independent numbers and the interval that holds the true mean with this probability, were
    they normal.

    Raises:
        ValueError: there are none.
    """
    if not numbers:
        raise ValueError("there is no mean of nothing")
    middle = mean(numbers)
    if len(numbers) < 2:
        return Interval(middle, None, None, None, 1)
    deviation = stdev(numbers)
    if deviation <= SPREADLESS * max(map(abs, numbers)):
        return Interval(middle, None, None, 0.0, len(numbers))
    half = student(len(numbers) - 1, level) * deviation / math.sqrt(len(numbers))
    return Interval(middle, middle - half, middle + half, deviation, len(numbers))


def difference(one: Mapping[int, float], other: Mapping[int, float]) -> Interval | None:
    """`other` minus `one`, paired by seed (equal seeds meet equal prompts and streams).

    None where no seed has both.
    """
    both = sorted(one.keys() & other.keys())
    return interval([other[seed] - one[seed] for seed in both]) if both else None


@lru_cache(maxsize=256)
def student(freedom: int, level: float = LEVEL) -> float:
    """The t for which Student's distribution with so many degrees of freedom has the mass `level` in
    [-t, t].
    """
    if freedom < 1 or not 0 < level < 1:
        raise ValueError(
            f"freedom = {freedom} and level = {level}: at least 1, and between 0 and 1, are right"
        )
    low, high = 0.0, 1.0
    while _within(high, freedom) < level:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < level else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """The mass of [-t, t]: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= (k - 1) / k * cosine**2
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
