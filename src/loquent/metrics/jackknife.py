"""Jackknife pseudo-values: the part of each row in a corpus score, such as BLEU, F1 or a share of n-grams.

With a score θ of G rows, and θ_g of all rows except row g, the pseudo-value of row g is

    G θ - (G - 1) θ_g

(Tukey 1958, "Bias and confidence in not quite large samples"). All samples of a row leave together. Of a mean
over rows the pseudo-values are the numbers of the rows; of another score their mean is θ without its bias of
order 1 / G. The variance of their mean estimates that of the score, and is on average not too small if θ does
not depend on the order of the rows (Efron and Stein 1981, doi:10.1214/aos/1176345462).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from loquent.core.metric import Measured, Scores
from loquent.statistics.clusters import members

MOST_ROWS = 1_000  # some scores are computed again for each row, which takes the square of their number


def pseudo_values(measured: Measured, rows: Sequence[str | None]) -> Scores:
    """The pseudo-value of each sample's row, for each score that `measured.leave_out` gives.

    A score has none if it is undefined without one of the rows. There are none for a single row, or for more
    than `MOST_ROWS`.

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
        if not all(map(math.isfinite, (score, *rest))):
            continue
        columns[key] = [None] * len(rows)
        for numbers, other in zip(own, rest, strict=True):
            for number in numbers:
                columns[key][number] = len(own) * score - (len(own) - 1) * other
    return columns
