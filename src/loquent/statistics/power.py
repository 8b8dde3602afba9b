"""Power of a t test of two means: the smallest difference that it sees, and the runs that a difference takes.

Power is computed from the noncentral t-distribution, for runs of two methods with equal deviations.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from loquent.errors import BadSetting
from loquent.statistics.intervals import LEVEL, student

POWER = 0.8
MOST = 1000  # the largest number of runs that is looked for
_POINTS = 801  # of the integral over the estimated deviation


def power(shift: float, freedom: float, level: float) -> float:
    """The probability that a two-sided t test decides for the right side.

    Args:
        shift: the true difference in standard errors, at least 0.
        freedom: degrees of freedom.
        level: the confidence level of the test, such as 0.95.
    """
    bound = student(freedom, level)
    low, high = max(0.0, 1 - 8 / math.sqrt(freedom)), 1 + 8 / math.sqrt(freedom)
    ratio = np.linspace(low, high, _POINTS)[1:]  # of the estimated deviation to the true one: chi / sqrt(df)
    log = (freedom - 1) * np.log(ratio) - freedom * (ratio**2 - 1) / 2
    weights = np.exp(log - log.max())
    normal = NormalDist()
    decided = np.array([normal.cdf(shift - bound * x) for x in ratio])
    return float((weights * decided).sum() / weights.sum())


@lru_cache(maxsize=256)
def smallest_shift(freedom: float, level: float, wanted: float = POWER) -> float:
    """The true difference, in standard errors, that is decided with the probability `wanted`."""
    low, high = 0.0, 1.0
    while power(high, freedom, level) < wanted:
        low, high = high, 2 * high
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if power(middle, freedom, level) < wanted else (low, middle)
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
    shift = smallest_shift(2 * runs - 2, 1 - (1 - LEVEL) / max(1, comparisons), wanted)
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
