"""Differences of two means with standard errors and p-values, and decisions about many of them.

Runs of two methods are independent samples, so their difference has Welch's standard error and degrees of
freedom (Welch 1947, doi:10.1093/biomet/34.1-2.28). Pairing by seed is an option, to be chosen before the
runs are made: it halves the degrees of freedom and gains only if equal seeds rise and fall together.

Skewness distorts both tests and intervals where one cell varies more than the other. Let g be the skewness of
the difference (its third central moment by its error to the power of 3), which points to the long side. The
end of an interval on that side lies t (1 + 5 g²) errors away, at most 4 t. A test takes a difference whose
long side is that of 0 for 1 + (3 - 9 / n) |g| times smaller: levels that are corrected for many tests lie
further out, and n = 3 runs show nothing of their skewness. Both were chosen by simulation (docs/evidence.md).
With fewer than 10 runs, no interval of an unpaired difference that we tried holds it in 93% to 97% of all
samples whatever the skewness, so there is none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import mean, stdev, variance
from typing import Any

from loquent.statistics import intervals
from loquent.statistics.intervals import (
    FEWEST,
    LEVEL,
    SINGLE,
    Interval,
    interval,
    student,
    student_tail,
    third_moment,
    unit_of,
)

RUNS = 10  # the runs of each method that an interval of a difference takes


@dataclass(frozen=True)
class Difference(Interval):
    """A difference of two means.

    `low`, `high`, `error` and `freedom` are None if its spread is unknown. `skewness` is its third
    central moment by its error to the power of 3. `sample` is the number of values behind `error` and
    `skewness`, where it is not `n`: a difference over the rows of one seed has n = 1. `tail` is the p-value
    of an exact test on the side of the difference; with it there is no error.
    """

    error: float | None = None
    freedom: float | None = None
    skewness: float = 0.0
    sample: int | None = None
    tail: float | None = None

    @property
    def above(self) -> float | None:
        """The one-sided p-value of the hypothesis that the true difference is not above 0."""
        if self.tail is not None:
            return self.tail if self.mean > 0 else 1 - self.tail
        if self.error is None or self.freedom is None:
            return None
        long = self.mean > 0 > self.skewness or self.mean < 0 < self.skewness  # 0 is on the long side
        stretch = stretched_test(self.skewness, self.sample or self.n) if long else 1.0
        half = student_tail(abs(self.mean) / (self.error * stretch), self.freedom) / 2
        return half if self.mean > 0 else 1 - half

    @property
    def p(self) -> float | None:
        """The two-sided p-value of equal means."""
        return None if self.above is None else 2 * min(self.above, 1 - self.above)

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return {**super().as_json(), "error": self.error, "freedom": self.freedom}


def stretched_test(skewness: Any, runs: int) -> Any:
    """What a test divides a difference by whose long side is that of 0; of a number or of an array."""
    return 1 + max(0.0, 3 - 9 / runs) * abs(skewness)


def of_means(
    middle: float,
    error: float,
    freedom: float,
    n: int,
    *,
    scale: float,
    third: float = 0.0,
    level: float = LEVEL,
) -> Difference:
    """The difference `middle` with this standard error; without an interval if the error is rounding.

    Args:
        scale: the size of the values that were subtracted.
        third: the third central moment of the difference.

    The size of the values must be near 1 (`intervals.unit_of`): powers of very large or small ones overflow.
    """
    if error <= SINGLE * scale:
        return Difference(middle, None, None, 0.0, n)
    half, skewness = student(freedom, level) * error, third / error**3 if third else 0.0
    far = half * (1 + min(3.0, 5 * skewness**2))
    below, above = (half, far) if skewness > 0 else (far, half)
    return Difference(middle, middle - below, middle + above, None, n, error, freedom, skewness)


def between(
    first: Mapping[int, float], second: Mapping[int, float], *, paired: bool = False
) -> Difference | None:
    """The mean of `second` minus that of `first`, over seeds; None if one of them is empty.

    With fewer than 10 values of each, or 3 pairs, the difference has an error and a test, but no interval.

    Args:
        paired: subtract the values of equal seeds; None if no seed is in both.
    """
    if paired:
        seeds = sorted(first.keys() & second.keys())
        first, second = ({seed: values[seed] for seed in seeds} for values in (first, second))
    low, high = list(first.values()), list(second.values())
    if not low or not high:
        return None
    unit = unit_of([*low, *high])
    low, high = ([value / unit for value in values] for values in (low, high))
    return in_units(_between(low, high, paired), unit)


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


def _between(low: list[float], high: list[float], paired: bool) -> Difference:
    """The mean of `high` minus that of `low`, whose size is near 1."""
    scale, n = max(map(abs, (*low, *high))), min(len(low), len(high))
    middle = mean(high) - mean(low)
    if n < 2:
        return Difference(middle, None, None, None, n)
    if paired:
        return _of_pairs([b - a for a, b in zip(low, high, strict=True)], scale)
    parts = [(variance(values) / len(values), float(len(values) - 1)) for values in (low, high)]
    third = third_moment(high) - third_moment(low) if n >= FEWEST else 0.0
    error = math.sqrt(sum(part for part, _ in parts))
    found = of_means(middle, error, welch(parts), n, scale=scale, third=third)
    return found if n >= RUNS else replace(found, low=None, high=None)


def _of_pairs(differences: list[float], scale: float) -> Difference:
    """The mean of paired differences; its interval is that of a mean."""
    n = len(differences)
    error, third = stdev(differences) / math.sqrt(n), third_moment(differences) if n >= FEWEST else 0.0
    found = of_means(mean(differences), error, n - 1.0, n, scale=scale, third=third)
    if found.error is None:
        return found
    alone = interval(differences)
    return replace(found, low=alone.low, high=alone.high)


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
