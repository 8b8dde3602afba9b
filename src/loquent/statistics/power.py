"""Power of Welch's t test of two means: the smallest difference that it sees, and the runs that it takes.

Runs of two methods have equal deviations here. Welch's test does not know that: with few runs its estimate of
the degrees of freedom costs power, 10 points with 3 runs each. Let u be the share of the first method in the
sum of both estimated variances. It is Beta distributed with parameters (n - 1) / 2 for n runs each, and
independent of the sum, which has 2 n - 2 degrees of freedom. Given u, Welch's degrees of freedom are
(n - 1) / (u² + (1 - u)²), and the power is a probability of the noncentral t-distribution. The power is its
mean over u.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadSetting
from loquent.statistics.intervals import LEVEL, student

POWER = 0.8
MOST = 1000  # the largest number of runs that is looked for
FEW = 40  # for more runs than this, u is 1/2 to a good approximation
_POINTS = 201  # of the integral over the estimated deviation
_SHARES = 24  # of the integral over u


def power(shift: float, freedom: float, level: float) -> float:
    """The probability that a two-sided t test decides for the right side.

    Args:
        shift: the true difference in standard errors, at least 0.
        freedom: degrees of freedom.
        level: the confidence level of the test, such as 0.95.
    """
    return _beyond(shift, freedom, student(freedom, level))


def _beyond(shift: float, freedom: float, bound: float) -> float:
    """The probability that a noncentral t with this shift is above `bound`."""
    low, high = max(0.0, 1 - 8 / math.sqrt(freedom)), 1 + 8 / math.sqrt(freedom)
    ratio = np.linspace(low, high, _POINTS)[1:]  # of the estimated deviation to the true one: chi / sqrt(df)
    log = (freedom - 1) * np.log(ratio) - freedom * (ratio**2 - 1) / 2
    weights = np.exp(log - log.max())
    scaled = ((shift - bound * ratio) / math.sqrt(2)).tolist()
    decided = np.array([(1 + math.erf(x)) / 2 for x in scaled])
    return float((weights * decided).sum() / weights.sum())


def welch_power(shift: float, runs: int, level: float) -> float:
    """The probability that Welch's test decides for the right side.

    Args:
        shift: the true difference in standard errors, at least 0.
        runs: the number of runs of each method, at least 2; both have the same deviation.
        level: the confidence level of the test, such as 0.95.
    """
    if runs > FEW:
        return power(shift, 2 * runs - 2, level)
    freedoms, weights = _freedoms(runs)
    seen = [_beyond(shift, 2 * runs - 2, student(freedom, level)) for freedom in freedoms]
    return float(np.dot(weights, seen))


@lru_cache(maxsize=64)
def _freedoms(runs: int) -> tuple[list[float], NDArray[np.float64]]:
    """Welch's degrees of freedom for values of u, and the weights of these values.

    With u = sin² a, the density of a is that of sin(2 a) to the power of runs - 2.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_SHARES)
    angles = (nodes + 1) * math.pi / 8  # from 0 to a quarter of pi: u and 1 - u give the same
    density = weights * np.sin(2 * angles) ** (runs - 2)
    shares = np.sin(angles) ** 2
    freedoms = (runs - 1) / (shares**2 + (1 - shares) ** 2)
    return freedoms.tolist(), density / density.sum()


@lru_cache(maxsize=256)
def smallest_shift(freedom: float, level: float, wanted: float = POWER) -> float:
    """The true difference, in standard errors, that a t test decides with the probability `wanted`."""
    return _least(lambda shift: power(shift, freedom, level), wanted)


@lru_cache(maxsize=256)
def smallest_welch_shift(runs: int, level: float, wanted: float = POWER) -> float:
    """The true difference, in standard errors, that Welch's test decides with the probability `wanted`."""
    return _least(lambda shift: welch_power(shift, runs, level), wanted)


def _least(chance: Callable[[float], float], wanted: float) -> float:
    """The least shift with this chance, to a part of 10,000."""
    low, high = 0.0, 1.0
    while chance(high) < wanted:
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if chance(middle) < wanted else (low, middle)
    return high


def smallest_difference(deviation: float, runs: int, comparisons: int = 1, wanted: float = POWER) -> float:
    """The smallest true difference of two means of `runs` runs each that is decided with 80% power.

    Args:
        deviation: the standard deviation of the runs of one method.
        comparisons: the number of comparisons of the table; the first step of Holm's correction divides the
            level by it.

    Raises:
        BadSetting: there are fewer than 2 runs, which have no deviation.
    """
    if runs < 2:
        raise BadSetting(f"runs = {runs}: a difference over seeds needs at least 2 runs of each method")
    shift = smallest_welch_shift(runs, 1 - (1 - LEVEL) / max(1, comparisons), wanted)
    return shift * deviation * math.sqrt(2 / runs)


def runs_for(difference: float, deviation: float, comparisons: int = 1, wanted: float = POWER) -> int | None:
    """The runs of each method that decide a true difference with 80% power; None for more than `MOST`.

    Raises:
        BadSetting: the difference or the deviation is not above 0.
    """
    if not difference > 0 or not deviation > 0:
        raise BadSetting(
            f"difference = {difference} and deviation = {deviation}: both must be numbers above 0"
        )
    low, high = 1, 2
    while smallest_difference(deviation, high, comparisons, wanted) > difference:
        if high >= MOST:
            return None
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        sees = smallest_difference(deviation, middle, comparisons, wanted) <= difference
        low, high = (low, middle) if sees else (middle, high)
    return high
