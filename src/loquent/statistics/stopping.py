"""The best threshold of a rule that stops as soon as a score reaches it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def best_threshold(
    scores: Sequence[NDArray[np.float64]], values: Sequence[NDArray[np.float64]]
) -> tuple[float, float]:
    """The threshold with the highest mean value over episodes, and that mean.

    An episode stops at the first state whose score is at least the threshold. Thresholds are halfway between
    neighbouring scores, so rounding of a score changes no stop; one is below all scores, one above. Of
    equally good thresholds it is the lowest.

    Args:
        scores: for each episode, f64[T] of the states in which it may stop, in order.
        values: for each episode, f64[T + 1]: what it earns if it stops in each state; the last entry is what
            it earns if it never stops.
    """
    reached = [np.maximum.accumulate(own) if len(own) else own for own in scores]
    different = np.unique(np.concatenate([np.zeros(0), *reached]))
    different = different[np.isfinite(different)]
    if not len(different):
        return 0.0, float(np.mean([own[-1] for own in values]))
    between = (different[1:] + different[:-1]) / 2
    thresholds = np.concatenate([[different[0] - 1.0], between, [different[-1] + 1.0]])
    total = np.zeros(len(thresholds))
    for own, value in zip(reached, values, strict=True):
        total += value[np.searchsorted(own, thresholds)]
    best = int(total.argmax())
    return float(thresholds[best]), float(total[best] / len(values))
