"""Tests between systems that answer the same items: each item is compared with itself.

Items differ in difficulty, and a one-way ANOVA counts that as noise. Here an item is a random factor crossed
with the system: F is the mean square of systems over that of systems by items, which is also the F of a mixed
model with a random intercept for each item on complete data. With several ratings of an answer a value is
their mean, which gives the same F as all ratings if each answer has equally many. The tests are about the
raters who were asked; they do not say what others would find.

Tests of all systems take the items that have a value for each of them; a pair takes those that both have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.statistics.comparing import holm
from loquent.statistics.intervals import LEVEL, check_finite, unit_of
from loquent.statistics.of_groups import scipy_stats

ROUNDING = 1e-12  # of a difference: a smaller spread is none
Values = Mapping[str, Mapping[str, float]]
"""A number for each system and item."""


@dataclass(frozen=True)
class Within:
    """F of systems within items, with its degrees of freedom before the correction.

    `p` is corrected by `epsilon`, Greenhouse and Geisser's (1959): differences of some pairs may spread more
    than those of others, and both degrees of freedom are multiplied by it. If systems differ by the same
    amounts in each item, F is infinite, and `p` is None: nothing shows how the differences vary.
    """

    f: float
    between: int
    within: int
    epsilon: float
    p: float | None


@dataclass(frozen=True)
class Friedman:
    """Friedman's test (1937) of the ranks within items, corrected for ties: chi-squared, freedom and p."""

    chi_squared: float
    freedom: int
    p: float


@dataclass(frozen=True)
class Paired:
    """The mean of second - first over the items of both, with tests for all pairs together.

    The interval and `p` are those of a paired t test with Bonferroni's correction, whose errors are of the
    pair alone (Maxwell 1980, doi:10.3102/10769986005003269). Both are None if the difference is the same in
    each item, but not 0. `rank_p` is that of Wilcoxon's signed ranks with Holm's correction.
    """

    first: str
    second: str
    items: int
    difference: float
    low: float | None
    high: float | None
    p: float | None
    rank_p: float

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True)
class Repeated:
    """The tests over the items that all systems have; `left_out` counts the items that some system lacks."""

    items: int
    left_out: int
    within: Within | None
    friedman: Friedman | None
    pairs: list[Paired]


def compare_systems(values: Values, level: float = LEVEL) -> Repeated | None:
    """The tests of systems on shared items; None with fewer than two systems or two shared items.

    Raises:
        BadSetting: a number is not finite. MissingExtra: scipy is not installed.
    """
    items = Counter(item for own in values.values() for item in own)
    shared = [item for item, count in items.items() if count == len(values)]
    if len(values) < 2 or len(shared) < 2:
        return None
    check_finite([value for own in values.values() for value in own.values()])
    table = np.array([[own[item] for own in values.values()] for item in shared], float)
    return Repeated(
        len(shared), len(items) - len(shared), within(table), friedman(table), _pairs(values, level)
    )


def within(table: NDArray[np.float64]) -> Within | None:
    """The test of float64[items, systems]; None if no system differs from another in any item."""
    table = table / unit_of(table.ravel().tolist())
    items, systems = table.shape
    centred = table - table.mean(1, keepdims=True)
    effects = centred.mean(0)
    between, freedom = systems - 1, (items - 1) * (systems - 1)
    squares = items * float((effects**2).sum())
    rest = float(((centred - effects) ** 2).sum())
    if not centred.any():
        return None
    if rest <= ROUNDING**2 * float((centred**2).sum()):
        return Within(math.inf, between, freedom, 1.0, None)
    f = squares / between / (rest / freedom)
    roots = np.linalg.eigvalsh(np.cov(centred, rowvar=False))
    epsilon = min(1.0, float(roots.sum()) ** 2 / (between * float((roots**2).sum())))
    p = float(scipy_stats().f.sf(f, epsilon * between, epsilon * freedom))
    return Within(f, between, freedom, epsilon, p)


def friedman(table: NDArray[np.float64]) -> Friedman | None:
    """Friedman's test of float64[items, systems]; None if all systems are equal in each item."""
    stats, (items, systems) = scipy_stats(), table.shape
    ranks = stats.rankdata(table, axis=1)
    middle = (systems + 1) / 2
    spread = float(((ranks - middle) ** 2).sum())
    if not spread:
        return None
    sums = ranks.sum(0) - items * middle
    chi_squared = (systems - 1) * float((sums**2).sum()) / spread
    return Friedman(chi_squared, systems - 1, float(stats.chi2.sf(chi_squared, systems - 1)))


def _pairs(values: Values, level: float) -> list[Paired]:
    stats, names = scipy_stats(), list(combinations(values, 2))
    quantile = 1 - (1 - level) / (2 * len(names))
    found: list[dict[str, Any]] = []
    for first, second in names:
        both = [item for item in values[first] if item in values[second]]
        if len(both) < 2:
            continue
        numbers = np.array([[values[name][item] for item in both] for name in (first, second)])
        unit = unit_of(numbers.ravel().tolist())
        gaps = numbers[1] / unit - numbers[0] / unit
        middle, error, freedom = (
            float(gaps.mean()),
            float(gaps.std(ddof=1)) / math.sqrt(len(both)),
            len(both) - 1,
        )
        reach = float(stats.t.ppf(quantile, freedom)) * error
        known = error > ROUNDING * abs(middle) or not middle
        p = 2 * float(stats.t.sf(abs(middle) / error, freedom)) if error else 1.0
        found.append(
            {
                "first": first,
                "second": second,
                "items": len(both),
                "difference": unit * middle,
                "low": unit * (middle - reach) if known else None,
                "high": unit * (middle + reach) if known else None,
                "p": min(1.0, len(names) * p) if known else None,
                "rank_p": float(stats.wilcoxon(gaps).pvalue) if gaps.any() else 1.0,
            }
        )
    for pair, rank_p in zip(found, holm([pair["rank_p"] for pair in found]), strict=True):
        pair["rank_p"] = rank_p
    return [Paired(**pair) for pair in found]
