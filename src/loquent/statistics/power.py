"""Power of the test of two means: the smallest difference that it sees, and the runs that it takes.

Runs of two methods have equal deviations and are normal here. The test of `comparing` does not know that: its
degrees of freedom are Welch's estimate, and it stretches by the skewness that the runs happen to have. With
few runs both cost power. Of normal runs, estimated skewness and the share of each method in the sum of both
estimated variances are independent of the means and of this sum, which has 2 n - 2 degrees of freedom for n
runs each. Given them, the power is a probability of the noncentral t-distribution. The power is its mean over
thousands of draws of them for few runs, and hundreds for many.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics.comparing import stretched_test
from loquent.statistics.intervals import FEWEST, LEVEL, student

POWER = 0.8
MOST = 1000  # the largest number of runs that is looked for
_POINTS = 201  # of the integral over the estimated deviation
_SHARES = 40  # parts of the draws of what the test estimates from the runs


def power(shift: float, freedom: float, level: float) -> float:
    """The probability that a two-sided t test decides for the right side.

    Args:
        shift: the true difference in standard errors, at least 0.
        freedom: degrees of freedom.
        level: the confidence level of the test, such as 0.95.
    """
    return _beyond(shift, freedom, student(freedom, level))


def _beyond(shift: float, freedom: float, bound: NDArray[np.float64] | float) -> float:
    """The probability that a noncentral t with this shift is above `bound`; the mean over several bounds."""
    low, high = max(0.0, 1 - 8 / math.sqrt(freedom)), 1 + 8 / math.sqrt(freedom)
    ratio = np.linspace(low, high, _POINTS)[1:]  # of the estimated deviation to the true one: chi / sqrt(df)
    log = (freedom - 1) * np.log(ratio) - freedom * (ratio**2 - 1) / 2
    weights = np.exp(log - log.max())
    places, chances = _normal()
    decided = np.interp(shift - np.multiply.outer(bound, ratio), places, chances)
    return float((decided @ weights).mean() / weights.sum())


@lru_cache(maxsize=1)
def _normal() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Places and the normal probabilities below them, fine enough for 7 digits between them."""
    places = np.linspace(-8.0, 8.0, 16_001)
    return places, np.array([(1 + math.erf(x / math.sqrt(2))) / 2 for x in places.tolist()])


def welch_power(shift: float, runs: int, level: float) -> float:
    """The probability that the test of `comparing` decides for the right side.

    Args:
        shift: the true difference in standard errors, at least 0.
        runs: the number of runs of each method, at least 2; both have the same deviation.
        level: the confidence level of the test, such as 0.95.
    """
    return _beyond(shift, 2 * runs - 2, _bounds(runs, level))


@lru_cache(maxsize=64)
def _bounds(runs: int, level: float) -> NDArray[np.float64]:
    """What the difference must exceed, in its estimated errors: means of parts of equal size of the draws."""
    freedoms, stretches = _draws(runs)
    known = np.linspace(runs - 1, 2 * runs - 2, _SHARES)
    bounds = np.interp(freedoms, known, [student(freedom, level) for freedom in known.tolist()]) * stretches
    means: NDArray[np.float64] = np.sort(bounds).reshape(_SHARES, -1).mean(1)
    return means


@lru_cache(maxsize=256)
def smallest_paired_shift(pairs: int, level: float, wanted: float = POWER) -> float:
    """The true mean of paired differences, in standard errors, that their test decides so often."""
    bounds = student(pairs - 1, level) * _paired_stretches(pairs)
    return _least(lambda shift: _beyond(shift, pairs - 1, bounds), wanted)


@lru_cache(maxsize=64)
def _paired_stretches(pairs: int) -> NDArray[np.float64]:
    """How far a test of rising paired differences is stretched: means of parts of equal size of the draws."""
    if pairs < FEWEST:
        return np.ones(1)
    values = Key(pairs, ("paired power",)).generator().normal(size=(_SHARES * max(5, 400 // pairs), pairs))
    values -= values.mean(1, keepdims=True)
    squared = (values**2).sum(1) / (pairs * (pairs - 1))
    skewness = (values**3).sum(1) / (pairs * (pairs - 1) * (pairs - 2)) / squared**1.5
    stretches = np.where(skewness < 0, stretched_test(skewness, pairs), 1.0)
    means: NDArray[np.float64] = np.sort(stretches).reshape(_SHARES, -1).mean(1)
    return means


@lru_cache(maxsize=64)
def _draws(runs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Welch's degrees of freedom, and how far a test of a rising difference is stretched."""
    count = _SHARES * max(5, 400 // runs)
    values = Key(runs, ("power",)).generator().normal(size=(count, 2, runs))
    values -= values.mean(2, keepdims=True)
    squared = (values**2).sum(2) / (runs * (runs - 1))
    freedoms = (runs - 1) * squared.sum(1) ** 2 / (squared**2).sum(1)
    if runs < FEWEST:
        return freedoms, np.ones(count)
    thirds = (values**3).sum(2) / (runs * (runs - 1) * (runs - 2))
    skewness = (thirds[:, 1] - thirds[:, 0]) / squared.sum(1) ** 1.5
    return freedoms, np.where(skewness < 0, stretched_test(skewness, runs), 1.0)


@lru_cache(maxsize=256)
def smallest_shift(freedom: float, level: float, wanted: float = POWER) -> float:
    """The true difference, in standard errors, that a t test decides with the probability `wanted`."""
    return _least(lambda shift: power(shift, freedom, level), wanted)


@lru_cache(maxsize=256)
def smallest_welch_shift(runs: int, level: float, wanted: float = POWER) -> float:
    """The true difference, in standard errors, that the test of `comparing` decides so often."""
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
