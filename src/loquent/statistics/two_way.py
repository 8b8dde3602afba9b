"""Means and differences over seeds and rows together: all seeds play the same rows, and both are samples.

A value is m + seed + row + rest, with random effects of the seed, of the row and of both. The variance of the
mean over S seeds and R rows is (MS_seed + MS_row - MS_rest) / (S R) by the mean squares of the two-way table
(Searle, Casella and McCulloch 1992, Variance Components, ch. 4), with Satterthwaite's degrees of freedom
(1946, doi:10.2307/3002019). What is tested over seeds alone is true of these rows only: each method has its
own effect on each row, which no seed changes.

With few seeds the variance of seeds and rows has more degrees of freedom than the seeds where these happen to
agree. So p is the larger of that over seeds and of that over seeds and rows, and the interval the wider one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadSetting
from loquent.statistics.comparing import Difference, in_units, larger_p, of_means, of_samples, welch
from loquent.statistics.intervals import unit_of

Values = NDArray[np.float64]
"""One number for each seed and row: float64[seeds, rows]."""


@dataclass(frozen=True)
class Spread:
    """Squared standard errors of a mean, each with its degrees of freedom.

    `seeds` and `rows` contain `rest`, which is that of the effects of seed and row together.
    """

    seeds: tuple[float, float]
    rows: tuple[float, float]
    rest: tuple[float, float]

    @property
    def total(self) -> float:
        """The squared standard error over seeds and rows, at least that of each alone."""
        return max(self.seeds[0] + self.rows[0] - self.rest[0], self.seeds[0], self.rows[0])

    @property
    def freedom(self) -> float:
        """The degrees of freedom of `total` (Satterthwaite), at least 1."""
        parts = (self.seeds, self.rows, self.rest)
        noise = sum(squared**2 / freedom for squared, freedom in parts if squared)
        return max(1.0, self.total**2 / noise) if noise else self.seeds[1]


def interval(values: Values, middle: float | None = None) -> Difference:
    """The mean over seeds and rows with its interval, and its test against 0.

    Args:
        middle: the mean, if it is known better than from these values.

    Raises:
        BadSetting: there are fewer than 2 seeds or 2 rows, or a number is not finite.
    """
    _check(values)
    unit = unit_of([float(np.abs(values).max())])
    own = values / unit
    return in_units(_test([own], spread_of(own), own.mean() if middle is None else middle / unit), unit)


def difference(first: Values, second: Values, middle: float | None = None) -> Difference:
    """The mean of `second` minus that of `first`, on the same rows in the same order.

    The seeds are independent samples, and the rows are paired.

    Args:
        middle: the difference, if it is known better than from these values.

    Raises:
        BadSetting: there are fewer than 2 seeds or 2 rows, the rows differ in number, or a number is not
            finite.
    """
    for values in (first, second):
        _check(values)
    if first.shape[1] != second.shape[1]:
        raise BadSetting(f"{first.shape[1]} and {second.shape[1]} rows: compare values on the same rows")
    unit = unit_of([float(np.abs(values).max()) for values in (first, second)])
    low, high = first / unit, second / unit
    centre = high.mean() - low.mean() if middle is None else middle / unit
    return in_units(_test([high, low], spread_between(low, high), centre), unit)


def spread_between(first: Values, second: Values) -> Spread:
    """The squared errors of a difference on the same rows."""
    parts, by_row = [spread_of(values) for values in (first, second)], second.mean(0) - first.mean(0)
    rows = float(by_row.var(ddof=1)) / len(by_row)
    return Spread(
        _sum([part.seeds for part in parts]), (rows, len(by_row) - 1), _sum([part.rest for part in parts])
    )


def spread_of(values: Values) -> Spread:
    """The squared errors of the mean."""
    seeds, rows = values.shape
    residuals = values - values.mean(1, keepdims=True) - values.mean(0, keepdims=True) + values.mean()
    freedom = (seeds - 1) * (rows - 1)
    return Spread(
        (float(values.mean(1).var(ddof=1)) / seeds, seeds - 1),
        (float(values.mean(0).var(ddof=1)) / rows, rows - 1),
        (float((residuals**2).sum()) / freedom / (seeds * rows), freedom),
    )


def _test(samples: list[Values], spread: Spread, middle: float) -> Difference:
    """The larger p of the tests over seeds and over seeds and rows, and the wider interval."""
    scale, n = max(float(np.abs(values).max()) for values in samples), min(map(len, samples))
    seeds = of_samples([values.mean(1).tolist() for values in samples], float(middle), scale)
    both = of_means(float(middle), math.sqrt(spread.total), spread.freedom, n, scale=scale)
    return larger_p(seeds, both)


def _sum(parts: list[tuple[float, float]]) -> tuple[float, float]:
    return sum(squared for squared, _ in parts), welch(parts)


def _check(values: Any) -> None:
    shape = np.shape(values)
    if len(shape) != 2 or min(shape) < 2:
        raise BadSetting(f"values of shape {shape} must have at least 2 seeds and 2 rows")
    if not np.isfinite(values).all():
        raise BadSetting("all values must be finite; leave out rows without a value")
