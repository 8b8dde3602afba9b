"""Means over episodes with standard errors that are clustered by row.

An evaluation with more episodes than rows plays rows again. Episodes on one row are not independent: of a
deterministic player they are equal. The rows are the independent units, so the error is that of a mean over
clusters (Liang and Zeger 1986, doi:10.1093/biomet/73.1.13, with the factor G / (G - 1) for G clusters). It
equals statsmodels' `OLS(x, 1).fit(cov_type="cluster")`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.errors import LoquentError
from loquent.statistics.intervals import incomplete_beta


def mean_and_error(numbers: Sequence[float], rows: Sequence[Hashable]) -> tuple[float, float]:
    """The mean of the episodes' numbers, and its standard error clustered by row.

    With n numbers on G rows, mean m, and the sum s_g of (x - m) over the episodes of row g, the error is
    sqrt(G / (G - 1) * sum of s_g²) / n. If each row is played once, it is the ordinary standard error. If
    each row is played k times with equal results, it is that of one episode a row.

    Args:
        numbers: one number per episode.
        rows: the row of each episode.

    Returns:
        The mean and the error; the error is nan for a single row, which does not show how rows vary.

    Raises:
        LoquentError: there is no number, or not one row per number.
    """
    _check(numbers, rows)
    mean = math.fsum(numbers) / len(numbers)
    residuals: dict[Hashable, list[float]] = {}
    for number, row in zip(numbers, rows, strict=True):
        residuals.setdefault(row, []).append(number - mean)
    count = len(residuals)
    if count < 2:
        return mean, math.nan
    squares = math.fsum(math.fsum(own) ** 2 for own in residuals.values())
    return mean, math.sqrt(count / (count - 1) * squares) / len(numbers)


def effective_number(numbers: Sequence[float], rows: Sequence[Hashable]) -> float:
    """The number of independent episodes whose mean would have the error of `mean_and_error`.

    With the variance v = mean of (x - m)² and the error e, it is 1 + v / e², which is n divided by the design
    effect, with both variances unbiased; at most n. It is n if each row is played once. If each of G rows is
    played k times with equal results, it is G.

    If all numbers are equal they do not show whether replays agree by chance. Then the replays count as
    equal: the result is n² / sum of k_g², where row g is played k_g times (Kish 1965), which is G if all
    rows are played equally often.

    Args:
        numbers: one number per episode.
        rows: the row of each episode.

    Raises:
        LoquentError: there is no number, or not one row per number.
    """
    mean, error = mean_and_error(numbers, rows)
    if math.isnan(error) or len(set(numbers)) == 1:
        return len(numbers) ** 2 / sum(count**2 for count in Counter(rows).values())
    variance = math.fsum((number - mean) ** 2 for number in numbers) / len(numbers)
    return min(float(len(numbers)), 1 + variance / error**2) if error else float(len(numbers))


def crossed_number(numbers: Sequence[float], first: Sequence[Hashable], second: Sequence[Hashable]) -> float:
    """The effective number of pairs of episodes, each with the rows of its two episodes.

    Pairs that share the row of either side are not independent. The squared error is a + b - c, where a and b
    are those of clusters by the first and by the second row and c is that of clusters by both (Cameron,
    Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136), at least a and b. If both rows of each pair are
    equal, the result is `effective_number`.

    Raises:
        LoquentError: there is no number, or not one row of each side per number.
    """
    sides = (first, second, list(zip(first, second, strict=True)))
    errors = [mean_and_error(numbers, rows)[1] for rows in sides]
    least = min(effective_number(numbers, rows) for rows in (first, second))
    if any(map(math.isnan, errors)) or len(set(numbers)) == 1:
        return least
    a, b, c = (error**2 for error in errors)
    total = max(a, b, a + b - c)
    mean = math.fsum(numbers) / len(numbers)
    variance = math.fsum((number - mean) ** 2 for number in numbers) / len(numbers)
    return min(least, 1 + variance / total) if total else least


def members(rows: Sequence[Hashable]) -> list[NDArray[np.int64]]:
    """The numbers of the episodes of each row, counted from 0; rows in the order of their first episodes."""
    numbers: dict[Hashable, list[int]] = {}
    for number, row in enumerate(rows):
        numbers.setdefault(row, []).append(number)
    return [np.array(own, dtype=np.int64) for own in numbers.values()]


def wilson(share: float, n: float, z: float) -> tuple[float, float]:
    """The Wilson score interval of a share of n >= 1 episodes, which ends where |p - share| is z errors of p.

    For a confidence level of 95% after replays, n is the effective number of episodes, and z is Student's t
    with as many degrees of freedom as there are rows, less 1.
    Source: Wilson (1927), "Probable inference".
    """
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    return (centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n)


def exact(share: float, n: float, level: float) -> tuple[float, float]:
    """The interval of Clopper and Pearson of a share of n episodes, which holds it at least so often.

    An effective number n need not be whole (Korn and Graubard 1998, Survey Methodology 24).
    Source: Clopper and Pearson 1934, doi:10.1093/biomet/26.4.404.
    """
    return _exact_low(share * n, n, level), 1 - _exact_low((1 - share) * n, n, level)


def _exact_low(count: float, n: float, level: float) -> float:
    """The share of which so many of n or more have the probability (1 - level) / 2; 0 for none."""
    low, high = 0.0, 1.0
    if count <= 0:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        tail = incomplete_beta(count, n - count + 1, middle)
        low, high = (middle, high) if tail < (1 - level) / 2 else (low, middle)
    return low


def _check(numbers: Sequence[float], rows: Sequence[Hashable]) -> None:
    if not numbers:
        raise LoquentError("the mean of 0 numbers is undefined; give at least one number")
    if len(numbers) != len(rows):
        raise LoquentError(
            f"{len(numbers)} numbers have {len(rows)} rows; give the row of each number, in the same order"
        )
