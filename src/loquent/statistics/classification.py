"""How well scores separate two classes, and how well probabilities agree with outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 10


@dataclass(frozen=True)
class Bin:
    """The outcomes whose probability is in [low, high), or in [low, high] in the last bin.

    `mean` is the mean probability and `share` the share of outcomes that are true; `n` is their number.
    """

    low: float
    high: float
    n: int
    mean: float
    share: float


def roc_auc(scores: Sequence[float] | NDArray[np.float64], positive: Sequence[bool]) -> float | None:
    """The area under the ROC curve: P(score of a positive > score of a negative) + P(equal) / 2.

    It is Mann and Whitney's U over the number of pairs (Hanley and McNeil 1982, doi:10.1148/radiology.143.1).
    None without a positive or without a negative.
    """
    values, is_positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    of_class = int(is_positive.sum())
    others = len(values) - of_class
    if not of_class or not others:
        return None
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]  # equal scores share the mean of their ranks
    return float((ranks[is_positive].sum() - of_class * (of_class + 1) / 2) / (of_class * others))


def reliability(
    probabilities: Sequence[float] | NDArray[np.float64],
    outcomes: Sequence[bool],
    *,
    low: float = 0.0,
    bins: int = BINS,
) -> list[Bin]:
    """The table of a reliability diagram: bins of equal width from `low` to 1, without empty bins."""
    values, happened = np.asarray(probabilities, dtype=np.float64), np.asarray(outcomes, dtype=bool)
    numbers = np.clip(((values - low) / (1 - low) * bins).astype(int), 0, bins - 1)
    width = (1 - low) / bins
    return [
        Bin(
            low + i * width,
            low + (i + 1) * width,
            int(own.sum()),
            float(values[own].mean()),
            float(happened[own].mean()),
        )
        for i in range(bins)
        if (own := numbers == i).any()
    ]


def calibration_error(table: Sequence[Bin]) -> float | None:
    """The expected calibration error, sum of n / N * |share - mean|; arXiv:1706.04599 (Guo et al.) eq. 3.

    None for a table without bins.
    """
    total = sum(one.n for one in table)
    return sum(one.n * abs(one.share - one.mean) for one in table) / total if total else None
