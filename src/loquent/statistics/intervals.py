"""Confidence intervals over seeds, by Student's t-distribution: of a mean, and of a paired difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import mean, stdev
from typing import Any

from loquent.errors import BadSetting

LEVEL = 0.95
SPREADLESS = 1e-12  # a deviation below this share of the largest number is rounding
SINGLE = 1e-6  # the same share for a difference of two measured values: networks compute in single precision


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval.

    `low` and `high` are None for a single number and for equal numbers, which do not show their spread.
    """

    mean: float
    low: float | None
    high: float | None
    deviation: float | None
    n: int

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return {
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "deviation": self.deviation,
            "n": self.n,
        }


def interval(
    numbers: Sequence[float],
    level: float = LEVEL,
    *,
    scale: float | None = None,
    rounding: float = SPREADLESS,
) -> Interval:
    """The mean of independent numbers with its confidence interval, which assumes a normal distribution.

    Args:
        scale: the size of the values from which the numbers were computed; the largest number by default.
        rounding: numbers with a deviation below this share of `scale` count as equal.

    Raises:
        BadSetting: `numbers` is empty, or a number is not finite.
    """
    check_finite(numbers)
    middle = mean(numbers)
    if len(numbers) < 2:
        return Interval(middle, None, None, None, 1)
    deviation = stdev(numbers)
    if deviation <= rounding * (max(map(abs, numbers)) if scale is None else scale):
        return Interval(middle, None, None, 0.0, len(numbers))
    half = student(len(numbers) - 1, level) * deviation / math.sqrt(len(numbers))
    return Interval(middle, middle - half, middle + half, deviation, len(numbers))


def check_finite(numbers: Sequence[float]) -> None:
    """Raise BadSetting if there is no number, or if one is not finite."""
    if not numbers:
        raise BadSetting("the mean of nothing is undefined; pass at least one number")
    for place, number in enumerate(numbers):
        if not math.isfinite(number):
            raise BadSetting(
                f"number {place} of {len(numbers)} is {number}; numbers must be finite; leave out runs "
                "without a value"
            )


def difference(first: Mapping[int, float], second: Mapping[int, float]) -> Interval | None:
    """The interval of `second` minus `first`, paired by seed; None if no seed is in both.

    Differences that spread by no more than rounding have no interval. Rounding is relative to the values:
    it is 1e-6 of the largest one, because networks compute in single precision.
    """
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        return None
    scale = max(abs(values[seed]) for values in (first, second) for seed in seeds)
    return interval([second[seed] - first[seed] for seed in seeds], scale=scale, rounding=SINGLE)


@lru_cache(maxsize=256)
def student(freedom: int, level: float = LEVEL) -> float:
    """The t for which [-t, t] holds the probability `level` under Student's t-distribution.

    Args:
        freedom: degrees of freedom.

    Raises:
        ValueError: `freedom` is below 1, or `level` is not between 0 and 1.
    """
    if freedom < 1 or not 0 < level < 1:
        raise ValueError(
            f"freedom must be at least 1 and level between 0 and 1, got freedom = {freedom} and "
            f"level = {level}"
        )
    low, high = 0.0, 1.0
    while _within(high, freedom) < level:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < level else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """The probability of [-t, t]: the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4."""
    angle = math.atan2(t, math.sqrt(freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= (k - 1) / k * cosine**2
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total
