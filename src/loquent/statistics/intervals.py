"""Confidence intervals of means: Student's t, with the end on the long side of skewed values further out.

Skewed values hide their tail from a few numbers, so that Student's t holds their mean too seldom. With the
skewness g of the mean of n numbers (its third central moment by its error to the power of 3), the end on the
side to which g points lies t (1 + (2 - 6 / n) |g|) errors from the mean. Three numbers show nothing of their
skewness, and there it is Student's interval. The other end is Student's. Differences have the same rule, and
every test is the interval turned round: p <= 5% where the interval of 95% leaves out 0 (`comparing`). The
factor was chosen by simulation (docs/evidence.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Real
from statistics import mean, stdev
from typing import Any, TypeVar

from loquent.errors import BadSetting

Found = TypeVar("Found", bound="Interval")
LEVEL = 0.95
SPREADLESS = 1e-12  # a deviation below this share of the largest number is rounding
FEWEST = 3  # the numbers that an interval takes
SINGLE = 1e-6  # the same share for a difference of two measured values: networks compute in single precision


@dataclass(frozen=True)
class Interval:
    """A mean with its confidence interval.

    `low` and `high` are None for fewer than 3 numbers and for equal numbers, which do not show their spread.
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


def interval(numbers: Sequence[float], level: float = LEVEL) -> Interval:
    """The mean of independent numbers with its confidence interval: Student's t, stretched by the skewness.

    Raises:
        BadSetting: `numbers` is empty, or something in it is no finite number.
    """
    unit = unit_of(numbers)
    own = [float(number) / unit for number in numbers]
    middle = mean(own)
    if len(own) < 2:
        return in_units(Interval(middle, None, None, None, 1), unit)
    deviation = stdev(own)
    if deviation <= SPREADLESS * max(map(abs, own)):
        return in_units(Interval(middle, None, None, 0.0, len(own)), unit)
    if len(own) < FEWEST:
        return in_units(Interval(middle, None, None, deviation, len(own)), unit)
    error = deviation / math.sqrt(len(own))
    below, above = reach(error, third_moment(own) / error**3, len(own) - 1, len(own), level)
    return in_units(Interval(middle, middle - below, middle + above, deviation, len(own)), unit)


def unit_of(numbers: Sequence[float]) -> float:
    """The power of two next to the largest absolute number, by which all can be divided without rounding.

    Powers of divided numbers neither overflow nor vanish.

    Raises:
        BadSetting: `numbers` is empty, or something in it is no finite number.
    """
    check_finite(numbers)
    largest = max(abs(float(number)) for number in numbers)
    return math.ldexp(1.0, math.frexp(largest)[1] - 1) if largest else 1.0


def in_units(found: Found, unit: float) -> Found:
    """The interval of numbers that were divided by `unit`, in the numbers' own size."""
    others = (found.low, found.high, found.deviation)
    low, high, deviation = (None if end is None else end * unit for end in others)
    return replace(found, mean=found.mean * unit, low=low, high=high, deviation=deviation)


def third_moment(numbers: Sequence[float]) -> float:
    """An unbiased estimate of the third central moment of the mean of at least 3 independent numbers."""
    n, middle = len(numbers), math.fsum(numbers) / len(numbers)
    return math.fsum((number - middle) ** 3 for number in numbers) / (n * (n - 1) * (n - 2))


def stretch(skewness: Any, n: int) -> Any:
    """How many times as far the long side of an interval of n values reaches; of a number or an array."""
    return 1 + max(0.0, 2 - 6 / n) * abs(skewness)


def reach(error: float, skewness: float, freedom: float, n: int, level: float) -> tuple[float, float]:
    """How far an interval of `level` reaches below and above a mean with this standard error."""
    half = student(freedom, level) * error
    far = half * stretch(skewness, n)
    return (half, far) if skewness > 0 else (far, half)


def check_finite(numbers: Sequence[float]) -> None:
    """Raise BadSetting if there is no number, or if something is no finite number."""
    if len(numbers) == 0:
        raise BadSetting("the mean of nothing is undefined; pass at least one number")
    for place, number in enumerate(numbers):
        if not isinstance(number, Real) or not math.isfinite(number):
            raise BadSetting(
                f"number {place} of {len(numbers)} is {number!r}; numbers must be finite; leave out runs "
                "without a value"
            )


@lru_cache(maxsize=1024)
def student(freedom: float, level: float = LEVEL) -> float:
    """The t for which [-t, t] holds the probability `level` under Student's t-distribution.

    Args:
        freedom: degrees of freedom; Welch's need not be whole.

    Raises:
        BadSetting: `freedom` is below 1, or `level` is not between 0 and 1.
    """
    if freedom < 1 or not 0 < level < 1:
        raise BadSetting(
            f"freedom must be at least 1 and level between 0 and 1, got freedom = {freedom} and "
            f"level = {level}"
        )
    low, high = 0.0, 1.0
    while 1 - student_tail(high, freedom) < level:
        low, high = high, 2 * high
    t = high
    for _ in range(100):  # Newton's method inside a bracket, which it halves where a step leaves it
        excess = student_tail(t, freedom) - (1 - level)
        low, high = (t, high) if excess > 0 else (low, t)
        step = t + excess / (2 * _density(t, freedom))
        step = step if low < step < high else (low + high) / 2
        if abs(step - t) <= 1e-14 * t:
            break
        t = step
    return t


def _density(t: float, freedom: float) -> float:
    """The density of Student's t-distribution."""
    front = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - math.log(freedom * math.pi) / 2
    return math.exp(front - (freedom + 1) / 2 * math.log1p(t * t / freedom))


def student_tail(t: float, freedom: float) -> float:
    """The probability outside [-t, t], t >= 0, under Student's t-distribution.

    It is the incomplete beta function I(x; freedom / 2, 1 / 2) at x = freedom / (freedom + t²).
    """
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I(x; a, b).

    Source: the continued fraction of the Digital Library of Mathematical Functions, 8.17.22.
    """
    if x >= 1:
        return 1.0
    if x <= 0:
        return 0.0
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, from its front by Lentz's method."""
    tiny, c = 1e-300, 1.0
    d = 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    total = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / ((1 + term * d) or tiny), (1 + term / c) or tiny
            total *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return total
