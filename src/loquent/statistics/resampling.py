"""Bootstrap intervals of any corpus statistic: the samples are drawn again with replacement, and the
statistic is made of each draw.

`percentile` takes quantiles of those numbers; `bca` corrects their bias and skewness (Efron 1987,
doi:10.1080/01621459.1987.10478410; Efron and Tibshirani 1993, ch. 14), its acceleration from leaving out each
of at most 200 groups of samples. Draw number r of a seed is the same whatever the statistic is, so that
intervals of two metrics rest on the same samples.

There is no interval, and `why` says so, where drawing again says nothing about the statistic: all draws give
one number, or none lies on the other side of the statistic, or its own interval does not hold it. This
happens to extremes, and to what counts different things, such as a vocabulary: drawn texts repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting

Numbers = NDArray[np.int64]
Statistic = Callable[
    [Numbers], dict[str, float]
]  # the numbers of samples, each as often as it was drawn -> values by key
GROUPS = 200  # that are left out for bca
SPREADLESS = 1e-12  # the share of a number below which a difference is rounding
ONE_SIDED = (
    "drawn texts repeat, and the draws lie on one side of it: it is an extreme, or depends on how many "
    "different texts there are"
)
METHODS = ("percentile", "bca")


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How intervals are made."""

    method: Literal["percentile", "bca"] = setting(
        "percentile", "how an interval is read off the draws", choices=METHODS
    )
    resamples: int = setting(1000, "draws of the whole corpus", low=100)
    level: float = setting(0.95, "the probability an interval is made for", low=0.5, high=0.999)
    seed: int = setting(0, "the seed of the draws", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)

    def draws(self, samples: int) -> Iterator[Numbers]:
        """The numbers of the samples in each draw."""
        stream = Key(self.seed, ("resampling",)).generator()
        for _ in range(self.resamples):
            yield stream.integers(samples, size=samples)


@dataclass(frozen=True)
class Bounds:
    """An interval, or why there is none."""

    low: float | None = None
    high: float | None = None
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """All that is known, by name."""
        return {"low": self.low, "high": self.high} | ({"why": self.why} if self.why else {})


def bounds(
    statistic: Statistic,
    samples: int,
    values: dict[str, float],
    settings: Resampling,
    drawn: Callable[[], None] = lambda: None,
) -> dict[str, Bounds]:
    """The interval of each of `values`, which are the statistic of all samples.

    Args:
        drawn: called after each draw, for a progress bar.
    """
    if samples < 2:
        return dict.fromkeys(values, Bounds(why="one sample says nothing about its spread"))
    found: dict[str, list[float]] = {name: [] for name in values}
    for numbers in settings.draws(samples):
        again = statistic(numbers)
        for name, column in found.items():
            if name in again:
                column.append(again[name])
        drawn()
    left_out = list(without_groups(statistic, samples)) if settings.method == "bca" else []
    made = {}
    for name, value in values.items():
        replicates, jackknifed = (
            np.array(found[name]),
            np.array([one[name] for one in left_out if name in one]),
        )
        made[name] = interval(value, replicates, settings, jackknifed)
    return made


def without_groups(statistic: Statistic, samples: int) -> Iterator[dict[str, float]]:
    """The statistic without each of at most GROUPS groups of samples, every so-manieth one being a group."""
    everyone = np.arange(samples)
    groups = min(samples, GROUPS)
    for group in range(groups):
        yield statistic(everyone[everyone % groups != group])


def interval(
    value: float, replicates: NDArray[np.float64], settings: Resampling, jackknifed: NDArray[np.float64]
) -> Bounds:
    """The interval of one number from what the draws made of it, and for bca from the statistic without each
    group.
    """
    if len(replicates) < settings.resamples / 2:
        return Bounds(why="fewer than half of the draws have a score")
    rounding = SPREADLESS * max(abs(value), float(np.abs(replicates).max()))
    if float(np.ptp(replicates)) <= rounding:
        return Bounds(why="all draws score alike")
    if not replicates.min() + rounding < value < replicates.max() - rounding:
        return Bounds(why=ONE_SIDED)
    tail = (1 - settings.level) / 2
    shares = (
        (tail, 1 - tail)
        if settings.method == "percentile"
        else corrected(value, replicates, jackknifed, tail)
    )
    low, high = (float(one) for one in np.quantile(replicates, shares)) if shares else (math.inf, -math.inf)
    if not low - rounding <= value <= high + rounding:
        return Bounds(why=ONE_SIDED)
    return Bounds(low, high)


def corrected(
    value: float, replicates: NDArray[np.float64], jackknifed: NDArray[np.float64], tail: float
) -> tuple[float, float] | None:
    """The shares of the draws at which a bca interval ends (Efron and Tibshirani 1993, eq. 14.10 to 14.15).

    None beyond all draws.
    """
    normal = NormalDist()
    below = (
        (np.count_nonzero(replicates < value) + np.count_nonzero(replicates <= value)) / 2 / len(replicates)
    )
    if not 0 < below < 1:
        return None
    bias = normal.inv_cdf(float(below))
    apart = jackknifed.mean() - jackknifed
    squares = float((apart**2).sum())
    acceleration = float((apart**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    ends = []
    for z in (normal.inv_cdf(tail), normal.inv_cdf(1 - tail)):
        shrunk = 1 - acceleration * (bias + z)
        if shrunk <= 0:
            return None
        ends.append(normal.cdf(bias + (bias + z) / shrunk))
    return ends[0], ends[1]
