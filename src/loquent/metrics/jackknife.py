"""Jackknife pseudo-values: the part of each row in a corpus score, such as BLEU, F1 or a share of n-grams.

With a score θ of G rows, θ_g of all rows except row g, and the mean m of all θ_g, the value of row g is

    θ + (G - 1) (m - θ_g)

All samples of a row leave together. These are the pseudo-values of Tukey (1958, "Bias and confidence in not
quite large samples"), G θ - (G - 1) θ_g, moved together so that their mean is θ. Tukey's have the mean
θ + (G - 1) (θ - m), which differs more between two samples of rows than θ does: for a count of pairs of equal
texts its variance is twice that which the values show. The variance that the values show estimates that of θ,
and is on average not too small if θ does not depend on the order of the rows (Efron and Stein 1981,
doi:10.1214/aos/1176345462). Of a mean over rows the values are the numbers of the rows.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loquent.core.metric import Measured, Scores
from loquent.core.settings import Remark
from loquent.errors import kind_of, place_of
from loquent.statistics.clusters import members


def pseudo_values(measured: Measured, rows: Sequence[str | None], name: str = "a metric") -> Scores:
    """The pseudo-value of each sample's row, for each score that `measured.leave_out` gives.

    A score has none if it is undefined without one of the rows, if a value is too large for a number, or for
    a single row.

    Args:
        rows: the row of each sample; None for a sample that has no part in the scores.
        name: the metric in remarks.

    Returns:
        By key, one number per sample; samples of one row have the same. None where `rows` has None.

    Warns:
        Remark: leaving out a row raised an error or gave something else than finite numbers, so that there
            are no pseudo-values.
    """
    groups = members([row for row in rows if row is not None])
    present = [number for number, row in enumerate(rows) if row is not None]
    if measured.leave_out is None or len(groups) < 2:
        return {}
    own = [[present[i] for i in group.tolist()] for group in groups]
    try:
        without = [_checked(measured.leave_out, numbers) for numbers in own]
    except Exception as error:  # whatever the code of a metric or task raises, training goes on
        _remark(name, f"leaving out a row gave {place_of(error)}{type(error).__name__}: {error}")
        return {}
    pairs = [pair for scores in without for pair in scores.items()]
    if wrong := {key: f"{key} = {value!r:.40}" for key, value in pairs if _is_bad(value)}:
        _remark(name, f"without one of the rows {', '.join(wrong.values())}, which is no finite number")
    columns: Scores = {}
    for key in without[0]:
        if key in wrong or _is_bad(measured.corpus.get(key)) or any(key not in scores for scores in without):
            continue
        score, rest = float(measured.corpus[key]), [float(scores[key]) for scores in without]
        mean = sum(rest) / len(rest)
        values = [score + (len(own) - 1) * (mean - other) for other in rest]
        if not all(map(math.isfinite, values)):
            continue
        column = columns[key] = list[float | None]([None] * len(rows))
        for numbers, value in zip(own, values, strict=True):
            for number in numbers:
                column[number] = value
    return columns


def _checked(leave_out: Callable[[Sequence[int]], Any], numbers: Sequence[int]) -> Mapping[str, Any]:
    scores = leave_out(numbers)
    if not isinstance(scores, Mapping):
        raise TypeError(f"leave_out must return a dict of numbers by key, got {kind_of(scores)}")
    return scores


def _is_bad(value: Any) -> bool:
    """Whether a value is no finite number."""
    try:
        return isinstance(value, str | bytes) or not math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return True


def _remark(name: str, why: str) -> None:
    warnings.warn(f"{name}: no values by row are kept: {why}", Remark, stacklevel=4)
