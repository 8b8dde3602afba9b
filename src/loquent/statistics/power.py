"""Power of the test of two means: the smallest difference that it sees, and the runs that it takes.

Effects are normal here, and runs of two methods have equal deviations. The test does not know that: its
degrees of freedom are Welch's and Satterthwaite's estimates, and it stretches by the skewness that the runs
happen to have. The difference is independent of the estimated errors. So its power is the mean, over draws of
these errors, of the probability that it exceeds what the test asks for. What matters most, the sum of the
estimated variances over seeds, is not drawn but taken at even quantiles of its distribution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics.intervals import FEWEST, LEVEL, stretch, student, unit_of

POWER = 0.8
MOST = 1000  # the largest number of runs that is looked for
_DRAWS = 60_000  # of few runs; of many there are fewer, with this number of values together
_VALUES = 360_000
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Errors:
    """The true standard errors of a difference of two methods with equal deviations.

    Attributes:
        seeds: the error over seeds on the rows that are played.
        runs: the runs of each method; of paired samples the pairs.
        rows: the error over rows of the mean over these runs; 0 if the test is over seeds alone.
        rest: the part of `seeds` and of `rows` that a run and a row have together.
        played: the rows.
        samples: 2 for two independent methods, 1 for paired values.
    """

    seeds: float
    runs: int
    rows: float = 0.0
    rest: float = 0.0
    played: int = 0
    samples: int = 2

    def __post_init__(self) -> None:
        if self.runs < 2 or self.samples not in (1, 2) or (self.rows and self.played < 2):
            raise BadSetting(
                f"runs = {self.runs}, samples = {self.samples} and played = {self.played}: a difference over "
                "seeds needs at least 2 runs of each of 1 or 2 samples, and at least 2 rows if they vary"
            )

    @property
    def unit(self) -> float:
        """The size of the errors; those that are divided by it neither overflow nor vanish when squared."""
        return unit_of([self.seeds, self.rows])

    @property
    def total(self) -> float:
        """The standard error over seeds and rows."""
        return math.sqrt(max(self.seeds**2 + self.rows**2 - self.rest**2, self.seeds**2, self.rows**2))

    def by(self, factor: float) -> Errors:
        """The errors of values that are multiplied by a factor."""
        return replace(self, seeds=self.seeds * factor, rows=self.rows * factor, rest=self.rest * factor)

    def with_runs(self, runs: int) -> Errors:
        """The errors of other numbers of runs on the same rows."""
        ratio = self.runs / runs
        rest = self.rest**2 * ratio
        rows = max(0.0, self.rows**2 - self.rest**2) + rest
        return replace(self, seeds=self.seeds * math.sqrt(ratio), runs=runs, rows=rows**0.5, rest=rest**0.5)


def power(difference: float, errors: Errors, level: float = LEVEL) -> float:
    """The probability that the test of `level` decides for the right side of a true difference above 0."""
    return _chance(difference, errors.total, _bounds(errors, level))


def smallest(errors: Errors, comparisons: int = 1, wanted: float = POWER) -> float:
    """The smallest true difference that is decided with 80% power.

    Args:
        comparisons: the number of comparisons of the table; the first step of Holm's correction divides the
            level by it.
    """
    return errors.unit * _smallest(errors.by(1 / errors.unit), _level(comparisons), wanted)


@lru_cache(maxsize=256)
def _smallest(errors: Errors, level: float, wanted: float) -> float:
    """The smallest difference of errors whose size is near 1, to a part of 10,000."""
    bounds = _bounds(errors, level)
    low, high = 0.0, errors.total
    while _chance(high, errors.total, bounds) < wanted:
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _chance(middle, errors.total, bounds) < wanted else (low, middle)
    return high


def runs_for(difference: float, errors: Errors, comparisons: int = 1, wanted: float = POWER) -> int | None:
    """The runs of each method that decide a true difference with 80% power; None for more than `MOST`.

    Args:
        errors: those of any number of runs; the rows stay the same.

    Raises:
        BadSetting: the difference or the error over seeds is not above 0.
    """
    if not difference > 0 or not errors.seeds > 0:
        raise BadSetting(
            f"difference = {difference} and error = {errors.seeds}: both must be numbers above 0"
        )
    difference, errors = difference / errors.unit, errors.by(1 / errors.unit)

    def sees(runs: int) -> bool:
        return power(difference, errors.with_runs(runs), _level(comparisons)) >= wanted

    low, high = 1, 2
    while not sees(high):
        if high >= MOST:
            return None
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if sees(middle) else (middle, high)
    return high


def of_seeds(deviation: float, runs: int) -> Errors:
    """The errors where only runs vary, with this deviation."""
    return Errors(deviation * math.sqrt(2 / runs), runs)


def _level(comparisons: int) -> float:
    return 1 - (1 - LEVEL) / max(1, comparisons)


def _chance(difference: float, error: float, bounds: Array) -> float:
    places, chances = _normal()
    return float(np.interp((difference - bounds) / error, places, chances).mean())


@lru_cache(maxsize=1)
def _normal() -> tuple[Array, Array]:
    """Places and the normal probabilities below them, fine enough for 7 digits between them."""
    places = np.linspace(-8.0, 8.0, 16_001)
    return places, np.array([(1 + math.erf(x / math.sqrt(2))) / 2 for x in places.tolist()])


@lru_cache(maxsize=64)
def _bounds(errors: Errors, level: float) -> Array:
    """What the difference must exceed: float64[draws]."""
    squared, freedom, far = _seeds(errors.runs, errors.samples)
    seeds = errors.seeds**2 * squared
    bound = _student(freedom, level) * far * np.sqrt(seeds)
    if not errors.rows:
        return bound
    stream, count = Key(errors.runs, ("power", "rows")).generator(), errors.played - 1
    both = errors.samples * (errors.runs - 1) * count
    rows, rest = (
        error**2 * stream.chisquare(n, len(seeds)) / n
        for error, n in ((errors.rows, count), (errors.rest, both))
    )
    total = np.maximum.reduce([seeds + rows - rest, seeds, rows])
    noise = seeds**2 / freedom + rows**2 / count + rest**2 / both
    bound_of_both: Array = _student(np.maximum(1.0, total**2 / noise), level) * np.sqrt(total)
    return np.maximum(bound, bound_of_both)


@lru_cache(maxsize=64)
def _seeds(runs: int, samples: int) -> tuple[Array, Array, Array]:
    """Draws of the squared error over seeds by the true one, its degrees of freedom, and the stretch."""
    stream = Key(runs, ("power", str(samples))).generator()
    count = max(400, min(_DRAWS, _VALUES // (samples * runs)))
    values = stream.normal(size=(count, samples, runs))
    values -= values.mean(2, keepdims=True)
    squared = (values**2).sum(2) / (runs * (runs - 1))
    total = squared.sum(1)
    freedom = (runs - 1) * total**2 / (squared**2).sum(1)
    far: Array = np.ones(count)
    if runs >= FEWEST:
        thirds = (values**3).sum(2) / (runs * (runs - 1) * (runs - 2))
        skewness = (thirds[:, 0] - thirds[:, 1:].sum(1)) / total**1.5
        far = np.where(skewness < 0, stretch(skewness, runs), 1.0)
    even = np.sort(stream.chisquare(samples * (runs - 1), 8 * count)).reshape(count, 8).mean(1)
    return even / (samples * (runs - 1)), freedom, far


def _student(freedom: Array, level: float) -> Array:
    """Student's t of many degrees of freedom."""
    found: Array = np.interp(1 / freedom, *_students(level))
    return found


@lru_cache(maxsize=64)
def _students(level: float) -> tuple[Array, Array]:
    """Inverse degrees of freedom and Student's t of them, fine enough for 4 digits between them."""
    places = np.linspace(1e-6, 1.0, 200)
    return places, np.array([student(1 / place, level) for place in places.tolist()])
