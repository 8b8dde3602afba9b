"""Bootstrap intervals of a corpus statistic: samples are drawn with replacement, and each draw is scored.

The method `percentile` takes quantiles of the draws' values. The method `bca` corrects their bias and
skewness (Efron 1987, doi:10.1080/01621459.1987.10478410; Efron and Tibshirani 1993, ch. 14). It estimates
the acceleration by leaving out each of at most 200 groups of samples. A draw depends on the seed and its
number alone, so the intervals of two metrics rest on the same samples.

Resampling gives no interval if all draws have the same value, if no draw lies on one of the two sides of the
statistic, or if the interval does not contain the statistic. This happens to extremes, and to statistics
that count distinct items, such as a vocabulary, because drawn texts repeat. `Bounds.why` gives the reason.

Quantiles of draws are too narrow for few samples: a draw spreads by sqrt((n - 1) / n) less than the samples,
and its spread is itself an estimate. Both methods take quantiles further out, which makes the interval of
a mean as wide as Student's t (Hesterberg 2015, arXiv:1411.5279, sec. 4.3, "expanded percentile interval").
Below `FEW` samples a caution says that scores with skewed distributions still leave the interval too often.
Means of 0 and 1 are not drawn: they have intervals of shares (`share`). How often intervals are right is in
docs/evidence.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting
from loquent.statistics.clusters import effective_number, exact, wilson
from loquent.statistics.intervals import student

Numbers = NDArray[np.int64]
"""The numbers of drawn samples; a sample that was drawn twice appears twice."""
Statistic = Callable[[Numbers], dict[str, float]]
"""Scores the drawn samples: values by key."""
GROUPS = 200  # the largest number of groups that bca leaves out, one at a time
FEW = 50  # below this number of samples, intervals have a caution
RARE = 5  # a mean of 0 and 1 has an exact interval if the rarer of them is less frequent
EXACT, WILSON = "exact", "wilson"  # the methods of means of 0 and 1
SPREADLESS = 1e-12  # a difference below this share of a number is rounding
ONE_SIDED = (
    "all draws lie on one side of the value: it is an extreme, or it depends on how many different texts "
    "there are, and drawn texts repeat"
)
METHODS = ("percentile", "bca")


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """Settings of bootstrap intervals."""

    method: Literal["percentile", "bca"] = setting(
        "percentile", "how the interval is computed from the draws", choices=METHODS
    )
    resamples: int = setting(1000, "number of draws; each draw has as many samples as the corpus", low=100)
    level: float = setting(0.95, "confidence level of the interval", low=0.5, high=0.999)
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
    """An interval, or the reason why there is none.

    `caution` says why an interval may be too narrow. `method` names it if it is not that of the settings.
    """

    low: float | None = None
    high: float | None = None
    why: str = ""
    caution: str = ""
    method: str = ""

    def as_json(self) -> dict[str, Any]:
        """The bounds by name, and the reason, the caution and the method if there are any."""
        texts = {"why": self.why, "caution": self.caution, "method": self.method}
        return {"low": self.low, "high": self.high} | {name: text for name, text in texts.items() if text}


def bounds(
    statistic: Statistic,
    samples: int,
    values: dict[str, float],
    settings: Resampling,
    after_draw: Callable[[], None] = lambda: None,
) -> dict[str, Bounds]:
    """The bootstrap interval of each of `values`.

    Args:
        samples: the number of samples in the corpus.
        values: the statistic of the whole corpus.
        after_draw: called after each draw, for a progress bar.
    """
    if samples < 2:
        return dict.fromkeys(values, Bounds(why="one sample does not show a spread"))
    replicates: dict[str, list[float]] = {name: [] for name in values}
    for numbers in settings.draws(samples):
        scores = statistic(numbers)
        for name, column in replicates.items():
            if name in scores:
                column.append(scores[name])
        after_draw()
    jackknife = list(without_groups(statistic, samples)) if settings.method == "bca" else []
    intervals = {}
    for name, value in values.items():
        column_left_out = np.array([scores[name] for scores in jackknife if name in scores])
        drawn = np.array(replicates[name])
        intervals[name] = interval(value, drawn, settings, column_left_out, samples)
    return intervals


def without_groups(statistic: Statistic, samples: int) -> Iterator[dict[str, float]]:
    """The statistic without each of at most `GROUPS` groups of samples.

    With n groups, group g holds the samples whose number modulo n is g.
    """
    numbers = np.arange(samples)
    groups = min(samples, GROUPS)
    for group in range(groups):
        yield statistic(numbers[numbers % groups != group])


def expanded_tail(samples: int, level: float) -> float:
    """The share of draws beyond each end of an interval of `level`, corrected for few samples.

    With n samples it is Phi(-t * sqrt(n / (n - 1))), where t is Student's with n - 1 degrees of freedom.
    Source: Hesterberg 2015, arXiv:1411.5279, sec. 4.3.
    """
    return NormalDist().cdf(-student(samples - 1, level) * math.sqrt(samples / (samples - 1)))


def few(samples: int) -> str:
    """The caution on intervals of fewer than `FEW` samples; empty for more."""
    if samples >= FEW:
        return ""
    return (
        f"{samples} samples are few: intervals of skewed scores hold the true value less often than they "
        f"say; take at least {FEW}"
    )


def share(scores: Sequence[float], rows: Sequence[Hashable], level: float) -> Bounds:
    """The interval of the mean of scores that are 0 or 1: Wilson's, or an exact one if few of them differ.

    Scores on one row are no independent evidence: n is the effective number of scores, and Wilson's interval
    has Student's t for the number of rows. If fewer than `RARE` scores differ from the others, Wilson's holds
    the share too seldom; that of Clopper and Pearson holds it at least as often as `level`.

    Args:
        rows: the row of each score; there are at least 2 different ones.
    """
    mean, n = math.fsum(scores) / len(scores), effective_number(scores, rows)
    if min(mean, 1 - mean) * n < RARE - 1e-9:
        return Bounds(*exact(mean, n, level), method=EXACT)
    return Bounds(*wilson(mean, n, student(len(set(rows)) - 1, level)), method=WILSON)


def interval(
    value: float,
    replicates: NDArray[np.float64],
    settings: Resampling,
    jackknife: NDArray[np.float64],
    samples: int,
) -> Bounds:
    """The interval of one value.

    Args:
        value: the statistic of the whole corpus.
        replicates: float64[draws], the statistic of each draw.
        jackknife: float64[groups], the statistic without each group; `bca` alone reads it.
        samples: the number of samples in the corpus.
    """
    if len(replicates) < settings.resamples / 2:
        return Bounds(why="fewer than half of the draws have a score")
    rounding = SPREADLESS * max(abs(value), float(np.abs(replicates).max()))
    if float(np.ptp(replicates)) <= rounding:
        return Bounds(why="all draws have the same score")
    if not replicates.min() + rounding < value < replicates.max() - rounding:
        return Bounds(why=ONE_SIDED)
    tail = expanded_tail(samples, settings.level)
    shares: tuple[float, float] | None = (tail, 1 - tail)
    if settings.method == "bca":
        shares = bca_shares(value, replicates, jackknife, tail)
    if shares is None:
        return Bounds(why=ONE_SIDED)
    low, high = (float(quantile) for quantile in np.quantile(replicates, shares))
    if not low - rounding <= value <= high + rounding:
        return Bounds(why=ONE_SIDED)
    return Bounds(low, high, caution=few(samples))


def bca_shares(
    value: float, replicates: NDArray[np.float64], jackknife: NDArray[np.float64], tail: float
) -> tuple[float, float] | None:
    """The shares of the draws at which a bca interval ends; None if one of them lies beyond all draws.

    Source: Efron and Tibshirani 1993, eq. 14.10 to 14.15.
    """
    normal = NormalDist()
    below = (
        (np.count_nonzero(replicates < value) + np.count_nonzero(replicates <= value)) / 2 / len(replicates)
    )
    if not 0 < below < 1:
        return None
    bias = normal.inv_cdf(float(below))
    deviations = jackknife.mean() - jackknife
    squares = float((deviations**2).sum())
    acceleration = float((deviations**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    ends = []
    for z in (normal.inv_cdf(tail), normal.inv_cdf(1 - tail)):
        denominator = 1 - acceleration * (bias + z)
        if denominator <= 0:
            return None
        ends.append(normal.cdf(bias + (bias + z) / denominator))
    return ends[0], ends[1]
