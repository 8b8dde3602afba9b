"""Differences of two means with intervals and p-values, and decisions about many of them.

Runs of two methods are independent samples, so their difference has Welch's standard error and degrees of
freedom (Welch 1947, doi:10.1093/biomet/34.1-2.28). Pairing by seed is an option, to be chosen before the
runs are made: it halves the degrees of freedom and gains only if equal seeds rise and fall together.

Intervals reach further on the long side of skewed values (`intervals.stretch`). A test is the interval turned
round: it divides a difference whose long side is that of 0 by the same factor. So p is at most 5% where the
interval of 95% leaves out 0, and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, variance
from typing import Any

from loquent.statistics import intervals
from loquent.statistics.intervals import (
    FEWEST,
    LEVEL,
    SINGLE,
    Interval,
    reach,
    stretch,
    student_tail,
    third_moment,
    unit_of,
)


@dataclass(frozen=True)
class Difference(Interval):
    """A difference of two means.

    `low` and `high` are None for fewer than 3 values. `error`, `freedom` and `tail` are None if its spread is
    unknown, or only rounding. `tail` is the one-sided p-value on the side of the difference; an exact test
    has one without an error.
    """

    error: float | None = None
    freedom: float | None = None
    tail: float | None = None

    @property
    def above(self) -> float | None:
        """The one-sided p-value of the hypothesis that the true difference is not above 0."""
        return self.tail if self.tail is None or self.mean > 0 else 1 - self.tail

    @property
    def p(self) -> float | None:
        """The two-sided p-value of equal means."""
        return None if self.tail is None else min(1.0, 2 * self.tail)

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return {**super().as_json(), "error": self.error, "freedom": self.freedom}


def of_means(
    middle: float, error: float, freedom: float, n: int, *, scale: float, third: float = 0.0
) -> Difference:
    """The difference `middle` with this standard error; without a test if the error is rounding.

    Args:
        n: the number of values of each mean.
        scale: the size of the values that were subtracted.
        third: the third central moment of the difference.

    The size of the values must be near 1 (`intervals.unit_of`): powers of very large or small ones overflow.
    """
    if error <= SINGLE * scale:
        return Difference(middle, None, None, 0.0, n)
    skewness = third / error**3 if third else 0.0
    far = stretch(skewness, n) if middle * skewness < 0 else 1.0
    tail = student_tail(abs(middle) / (error * far), freedom) / 2
    below, above = reach(error, skewness, freedom, n, LEVEL)
    low, high = (middle - below, middle + above) if n >= FEWEST else (None, None)
    return Difference(middle, low, high, None, n, error, freedom, tail)


def between(
    first: Mapping[int, float],
    second: Mapping[int, float],
    *,
    paired: bool = False,
    middle: float | None = None,
) -> Difference | None:
    """The mean of `second` minus that of `first`, over seeds; None if one of them is empty.

    Args:
        paired: subtract the values of equal seeds; None if no seed is in both.
        middle: the difference, if it is known better than from these values.
    """
    if paired:
        seeds = sorted(first.keys() & second.keys())
        first, second = ({seed: values[seed] for seed in seeds} for values in (first, second))
    low, high = list(first.values()), list(second.values())
    if not low or not high:
        return None
    unit = unit_of([*low, *high])
    low, high = ([value / unit for value in values] for values in (low, high))
    centre = mean(high) - mean(low) if middle is None else middle / unit
    return in_units(_between(low, high, paired, centre), unit)


def fisher(successes: tuple[int, int], sizes: tuple[int, int]) -> Difference:
    """The second share of successes minus the first, with Fisher's exact test (Fisher 1935).

    Given both sizes and all successes, those of the second are hypergeometric if the shares are equal.
    The tail has what was counted and all counts that lie further on its side.
    """
    (first, second), (m, n) = successes, sizes
    total, middle = first + second, second / n - first / m
    counts = range(second, min(n, total) + 1) if middle > 0 else range(max(0, total - m), second + 1)
    ways = sum(math.comb(n, k) * math.comb(m, total - k) for k in counts)
    return Difference(middle, None, None, None, 1, tail=ways / math.comb(m + n, total))


def in_units(found: Difference, unit: float) -> Difference:
    """The difference of numbers that were divided by `unit`, in the numbers' own size."""
    scaled = intervals.in_units(found, unit)
    return scaled if found.error is None else replace(scaled, error=found.error * unit)


def _between(low: list[float], high: list[float], paired: bool, middle: float) -> Difference:
    """The mean of `high` minus that of `low`, whose size is near 1."""
    scale, n = max(map(abs, (*low, *high))), min(len(low), len(high))
    if n < 2:
        return Difference(middle, None, None, None, n)
    samples = [[b - a for a, b in zip(low, high, strict=True)]] if paired else [high, low]
    return of_samples(samples, middle, scale)


def of_samples(samples: Sequence[list[float]], middle: float, scale: float) -> Difference:
    """The difference `middle` of the means of two independent samples, or the mean of one sample."""
    n = min(map(len, samples))
    parts = [(variance(values) / len(values), len(values) - 1.0) for values in samples]
    thirds = [third_moment(values) if n >= FEWEST else 0.0 for values in samples]
    error = math.sqrt(sum(squared for squared, _ in parts))
    return of_means(middle, error, welch(parts), n, scale=scale, third=thirds[0] - sum(thirds[1:]))


def larger_p(one: Difference, other: Difference) -> Difference:
    """Of two tests of one difference the larger p-value, with the wider interval; `other` names the error.

    A test without a spread has no say.
    """
    if one.tail is None or other.tail is None:
        return other if one.tail is None else one
    tail = max(one.tail, other.tail)
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return replace(other, tail=tail)
    return replace(other, low=min(one.low, other.low), high=max(one.high, other.high), tail=tail)


def welch(parts: Sequence[tuple[float, float]]) -> float:
    """Welch's degrees of freedom of a sum of independent squared errors, each given with its own."""
    total = sum(squared for squared, _ in parts)
    if not total:
        return sum(freedom for _, freedom in parts)
    return 1 / sum((squared / total) ** 2 / freedom for squared, freedom in parts if squared)


@dataclass(frozen=True)
class OrderTest:
    """One test of "the values rise at every step" against "they fall at some step".

    `p` is two-sided: under equal values at every step, p <= a happens with a probability of at most a.
    """

    p: float
    rises: bool


def order(above: Sequence[float]) -> OrderTest:
    """The test of a whole order from the one-sided p-values of its steps.

    All steps rise if the least certain one does (the intersection-union test, Berger 1982,
    doi:10.1080/00401706.1982.10487790). Some step falls by Bonferroni's bound over the steps. With one
    step it is the two-sided t test.
    """
    rises, falls = max(above), len(above) * min(1 - p for p in above)
    return OrderTest(min(1.0, 2 * min(rises, falls)), rises <= falls)


def holm(values: Sequence[float]) -> list[float]:
    """p-values corrected for their number, in the given order (Holm 1979, JSTOR 4615733).

    If no effect exists, one of them is at most a with a probability of at most a.
    """
    corrected, running = [0.0] * len(values), 0.0
    for rank, index in enumerate(sorted(range(len(values)), key=lambda i: values[i])):
        running = max(running, min(1.0, (len(values) - rank) * values[index]))
        corrected[index] = running
    return corrected
