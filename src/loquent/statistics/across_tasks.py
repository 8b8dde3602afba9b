"""Scores over several tasks: the interquartile mean and the probability of improvement.

Source: Agarwal et al. 2021, "Deep reinforcement learning at the edge of the statistical precipice",
arXiv:2108.13264, sec. 4. Neither has an interval here: with the 3 to 10 runs a task that suites have, the
stratified bootstrap of that paper holds the true value too seldom (docs/evidence.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from loquent.statistics.intervals import check_finite

Runs = Sequence[Sequence[float]]
"""The values of the runs of one method, task by task."""


def interquartile_mean(values: Sequence[float]) -> float:
    """The mean of the middle half of the values of all runs and tasks, which must have one scale.

    The lowest and the highest n // 4 of n values are left out, as in `scipy.stats.trim_mean(values, 0.25)`.

    Raises:
        BadSetting: there is no value, or one is not finite.
    """
    check_finite(values)
    cut = len(values) // 4
    middle = sorted(values)[cut : len(values) - cut]
    return math.fsum(middle) / len(middle)


def probability_of_improvement(better: Runs, other: Runs) -> float:
    """The chance that a run of one method is above a run of another on a task drawn at random.

    On each task it is the share of pairs of runs in which the first is higher (equal values count one half:
    Mann and Whitney's U by the number of pairs); the result is the mean over tasks.

    Args:
        better: the runs of the method that may be better, task by task.
        other: those of the other method, on the same tasks in the same order.

    Raises:
        BadSetting: there is no task, a task has no run, or a value is not finite.
        ValueError: the numbers of tasks differ.
    """
    shares = []
    for first, second in zip(better, other, strict=True):
        check_finite(first)
        check_finite(second)
        wins = math.fsum((a > b) + (a == b) / 2 for a in first for b in second)
        shares.append(wins / (len(first) * len(second)))
    check_finite(shares)
    return math.fsum(shares) / len(shares)
