"""Krippendorff's alpha: the agreement of raters beyond chance (Krippendorff 2011, asc_papers 43).

With the coincidences o(c, k) of values c and k within units, their sums n(c) and the total n,

    alpha = 1 - (n - 1) * sum of o(c, k) d(c, k) / sum of n(c) n(k) d(c, k)

over all pairs of values. A unit with m values adds 1 / (m - 1) to the coincidence of each ordered pair of its
values, so missing ratings need no care; a unit with one value is left out. The squared distance d(c, k) is 1
for different values (nominal), (c - k)² (interval), or the square of the number of values between c and k,
themselves counted by half (ordinal).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadSetting

LEVELS = ("nominal", "ordinal", "interval")


def alpha(units: Sequence[Sequence[float]], level: str) -> float | None:
    """Krippendorff's alpha of the ratings of units; None where all values are equal or no unit has two.

    Args:
        units: the values that the raters gave each unit, in any order.
        level: nominal, ordinal or interval.

    Raises:
        BadSetting: the level is unknown, or a value is not finite.
    """
    if level not in LEVELS:
        raise BadSetting(f"level = {level!r}; it must be one of {', '.join(LEVELS)}")
    paired = [np.asarray(values, dtype=np.float64) for values in units if len(values) > 1]
    if not paired:
        return None
    values, places = np.unique(np.concatenate(paired), return_inverse=True)
    if not np.isfinite(values).all():
        raise BadSetting("a rating is not finite; ratings must be finite numbers")
    observed = np.zeros((len(values), len(values)))
    first = 0
    for unit in paired:
        counts = np.bincount(places[first : first + len(unit)], minlength=len(values)).astype(np.float64)
        observed += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
        first += len(unit)
    sums = observed.sum(0)
    distances = _distances(values, sums, level)
    expected = float((np.outer(sums, sums) * distances).sum())
    if expected == 0.0:
        return None
    return float(1.0 - (sums.sum() - 1.0) * (observed * distances).sum() / expected)


def _distances(values: NDArray[np.float64], sums: NDArray[np.float64], level: str) -> NDArray[np.float64]:
    """float64[values, values]: the squared distances of values, which `np.unique` has sorted."""
    if level == "nominal":
        return 1.0 - np.eye(len(values))
    if level == "ordinal":
        values = np.cumsum(sums) - sums / 2  # between two middles lie half of both and all between
    return np.subtract.outer(values, values) ** 2
