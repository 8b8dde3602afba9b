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
from collections.abc import Sequence

from loquent.core.metric import Measured, Scores
from loquent.statistics.clusters import members

MOST_ROWS = 1_000  # some scores are computed again for each row, which takes the square of their number


def pseudo_values(measured: Measured, rows: Sequence[str | None]) -> Scores:
    """The pseudo-value of each sample's row, for each score that `measured.leave_out` gives.

    A score has none if it is undefined without one of the rows, or a value is too large for a number. There
    are none for a single row, or for more than `MOST_ROWS`.

    Args:
        rows: the row of each sample; None for a sample that has no part in the scores.

    Returns:
        By key, one number per sample; samples of one row have the same. None where `rows` has None.
    """
    groups = members([row for row in rows if row is not None])
    present = [number for number, row in enumerate(rows) if row is not None]
    if measured.leave_out is None or not 1 < len(groups) <= MOST_ROWS:
        return {}
    own = [[present[i] for i in group.tolist()] for group in groups]
    without = [measured.leave_out(numbers) for numbers in own]
    columns: Scores = {}
    for key in without[0]:
        score, rest = measured.corpus.get(key, math.nan), [scores.get(key, math.nan) for scores in without]
        mean = sum(rest) / len(rest)
        values = [score + (len(own) - 1) * (mean - other) for other in rest]
        if not all(map(math.isfinite, values)):
            continue
        columns[key] = [None] * len(rows)
        for numbers, value in zip(own, values, strict=True):
            for number in numbers:
                columns[key][number] = value
    return columns
