"""Differences of two means with standard errors and p-values, and decisions about many of them.

Runs of two methods are independent samples, so their difference has Welch's standard error and degrees of
freedom (Welch 1947, doi:10.1093/biomet/34.1-2.28). Pairing by seed is an option, to be chosen before the
runs are made: it halves the degrees of freedom and gains only if equal seeds rise and fall together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, variance
from typing import Any

from loquent.statistics.intervals import (
    FEWEST,
    LEVEL,
    SINGLE,
    Interval,
    check_finite,
    student,
    student_tail,
)


@dataclass(frozen=True)
class Difference(Interval):
    """A difference of two means. `low`, `high`, `error` and `freedom` are None if its spread is unknown."""

    error: float | None = None
    freedom: float | None = None

    @property
    def above(self) -> float | None:
        """The one-sided p-value of the hypothesis that the true difference is not above 0."""
        if self.error is None or self.freedom is None:
            return None
        half = student_tail(abs(self.mean) / self.error, self.freedom) / 2
        return half if self.mean > 0 else 1 - half

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return {**super().as_json(), "error": self.error, "freedom": self.freedom}


def of_means(
    middle: float, error: float, freedom: float, n: int, *, scale: float, level: float = LEVEL
) -> Difference:
    """The difference `middle` with this standard error; without an interval if the error is rounding.

    Args:
        scale: the size of the values that were subtracted.
    """
    if error <= SINGLE * scale:
        return Difference(middle, None, None, 0.0, n)
    half = student(freedom, level) * error
    return Difference(middle, middle - half, middle + half, None, n, error, freedom)


def between(
    first: Mapping[int, float], second: Mapping[int, float], *, paired: bool = False
) -> Difference | None:
    """The mean of `second` minus that of `first`, over seeds; None if one of them is empty.

    With fewer than 3 values the difference has an error and a test, but no interval.

    Args:
        paired: subtract the values of equal seeds; None if no seed is in both.
    """
    if paired:
        seeds = sorted(first.keys() & second.keys())
        first, second = ({seed: values[seed] for seed in seeds} for values in (first, second))
    low, high = list(first.values()), list(second.values())
    if not low or not high:
        return None
    check_finite([*low, *high])
    scale, n = max(map(abs, (*low, *high))), min(len(low), len(high))
    middle = mean(high) - mean(low)
    if n < 2:
        return Difference(middle, None, None, None, n)
    if paired:
        parts = [(variance([b - a for a, b in zip(low, high, strict=True)]) / n, float(n - 1))]
    else:
        parts = [(variance(values) / len(values), float(len(values) - 1)) for values in (low, high)]
    found = of_means(middle, math.sqrt(sum(part for part, _ in parts)), welch(parts), n, scale=scale)
    return found if n >= FEWEST else replace(found, low=None, high=None)


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
