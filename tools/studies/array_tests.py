"""The tests of verdicts for many tables at once.

They are `statistics.two_way`, `comparing` and `intervals` for arrays of tables;
tests/bench/evidence/test_study.py shows them equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loquent.statistics.intervals import FEWEST, SINGLE, stretch

LEVEL = 0.05
Array = np.ndarray


@dataclass(frozen=True)
class Cells:
    """What tests read of tables: float64[tables, methods], and `by_row` float64[tables, methods, rows]."""

    seeds: int
    mean: Array
    squared: Array  # the squared error over seeds
    third: Array
    rest: Array
    by_row: Array
    size: Array  # float64[tables], the largest number


@dataclass(frozen=True)
class Judged:
    """Differences or means with their tests over seeds, and over seeds and rows: float64[tables]."""

    seeds: int
    mean: Array
    over_seeds: tuple[Array, Array]  # error and degrees of freedom
    skewness: Array
    over_both: tuple[Array, Array]

    def p(self, shift: float | Array = 0.0, *, stretched: bool = True) -> tuple[Array, Array]:
        """p of means that are shifted: over seeds, and the larger of that and of the one over both."""
        mean = self.mean + shift
        far = stretch(self.skewness, self.seeds) if stretched and self.seeds >= FEWEST else 1.0
        far = np.where(mean * self.skewness < 0, far, 1.0)
        alone, both = (
            np.where(error > 0, two_sided(np.abs(mean) / np.where(error > 0, error, 1) / by, freedom), lost)
            for (error, freedom), by, lost in ((self.over_seeds, far, 0.0), (self.over_both, 1.0, 1.0))
        )
        return alone, np.maximum(alone, both)


def summary(numbers: Array) -> Cells:
    """What tests read of float64[tables, methods, seeds, rows]."""
    seeds, rows = numbers.shape[2:]
    of_seed, of_row, mean = numbers.mean(3), numbers.mean(2), numbers.mean((2, 3))
    found = of_seeds(of_seed)
    inner = numbers - of_seed[..., None]
    squares = np.einsum("tmsr,tmsr->tm", inner, inner) - seeds * ((of_row - mean[..., None]) ** 2).sum(2)
    rest = squares / ((seeds - 1) * (rows - 1)) / (seeds * rows)
    largest = np.abs(numbers).max((1, 2, 3))
    return Cells(seeds, mean, found.squared, found.third, np.maximum(0, rest), of_row, largest)


def of_seeds(numbers: Array) -> Cells:
    """The same of float64[tables, methods, seeds], without rows."""
    seeds, inner = numbers.shape[2], numbers - numbers.mean(2, keepdims=True)
    squared = (inner**2).sum(2) / (seeds * (seeds - 1))
    third = (inner**3).sum(2) / (seeds * (seeds - 1) * max(1, seeds - 2))
    size, none = np.abs(numbers).max((1, 2)), np.zeros_like(squared)
    return Cells(seeds, numbers.mean(2), squared, third, none, none[..., None], size)


def between(cells: Cells, low: int, high: int) -> Judged:
    """The tests of the difference of two methods in all tables."""
    mean = cells.mean[:, high] - cells.mean[:, low]
    pair = [low, high]
    third = cells.third[:, high] - cells.third[:, low]
    rows = cells.by_row[:, high] - cells.by_row[:, low]
    return judged(cells, mean, pair, third, rows)


def mean_of(cells: Cells, method: int) -> Judged:
    """The tests of the mean of a method against 0."""
    return judged(cells, cells.mean[:, method], [method], cells.third[:, method], cells.by_row[:, method])


def judged(cells: Cells, mean: Array, own: list[int], third: Array, by_row: Array) -> Judged:
    """The tests of means with these third moments and means by row."""
    rows = by_row.shape[1]
    parts = [
        together(cells.squared[:, own], cells.seeds - 1),
        together(cells.rest[:, own], (cells.seeds - 1) * max(1, rows - 1)),
    ]
    (seeds, freedom), (rest, of_rest) = parts
    squared = by_row.var(1, ddof=1) / rows if rows > 1 else np.zeros_like(seeds)
    total = np.maximum.reduce([seeds + squared - rest, seeds, squared])
    noise = seeds**2 / freedom + squared**2 / max(1, rows - 1) + rest**2 / of_rest
    with np.errstate(divide="ignore", invalid="ignore"):
        of_total = np.where(noise > 0, np.maximum(1.0, total**2 / noise), cells.seeds - 1)
        skewness = np.where(seeds > 0, third / seeds**1.5, 0.0)
    errors = [np.sqrt(one) * (np.sqrt(one) > SINGLE * cells.size) for one in (seeds, total)]
    return Judged(cells.seeds, mean, (errors[0], freedom), skewness, (errors[1], of_total))


def together(squared: Array, freedom: float) -> tuple[Array, Array]:
    """The sum of squared errors with Welch's degrees of freedom."""
    total = squared.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(total > 0, freedom * total**2 / (squared**2).sum(1), freedom * squared.shape[1])
    return total, found


def two_sided(t: Array, freedom: Array) -> Array:
    """`intervals.student_tail` of arrays: the same continued fraction, all at once."""
    t, freedom = np.broadcast_arrays(t, freedom)
    x = freedom / (freedom + t * t)
    a, b = freedom / 2, np.full_like(x, 0.5)
    turned = x >= (a + 1) / (a + b + 2)
    log_gamma = np.vectorize(math.lgamma, otypes=[float])
    gammas = log_gamma(a + 0.5) - log_gamma(a) - math.lgamma(0.5)
    front = np.exp(gammas + a * np.log(x) + 0.5 * np.log(np.where(x < 1, 1 - x, 1)))
    first, second = np.where(turned, b, a), np.where(turned, a, b)
    side = front * fraction(first, second, np.where(turned, 1 - x, x)) / first
    return np.where(x >= 1, 1.0, np.where(turned, 1 - side, side))


def fraction(a: Array, b: Array, x: Array) -> Array:
    """`intervals._fraction` of arrays."""
    c, d = np.ones_like(x), 1 / (1 - (a + b) * x / (a + 1))
    total = d
    for m in range(1, 1000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d), 1 + term / c
            total = total * d * c
        if np.abs(d * c - 1).max() < 1e-14:
            break
    return total


def corrected(p: Array) -> Array:
    """`comparing.holm` of many tables: float64[tables, tests]."""
    order = np.argsort(p, 1, kind="stable")
    times = p.shape[1] - np.arange(p.shape[1])
    found = np.maximum.accumulate(np.minimum(1, np.take_along_axis(p, order, 1) * times), 1)
    back = np.empty_like(p)
    np.put_along_axis(back, order, found, 1)
    return back


def any_decided(p: Array) -> Array:
    """Whether Holm's correction leaves a decided claim in each table."""
    return p.min(1) * p.shape[1] <= LEVEL


def order_p(steps: Sequence[Judged]) -> Array:
    """`comparing.order` of many tables."""
    found = [(one.mean > 0, one.p()[1] / 2) for one in steps]
    above = np.stack([np.where(rises, tail, 1 - tail) for rises, tail in found])
    return np.minimum(1, 2 * np.minimum(above.max(0), len(steps) * (1 - above).min(0)))
