"""The smallest difference that a table could have seen with 80% power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from loquent.bench.evidence.rows import Row, shared_rows, table
from loquent.statistics import power
from loquent.statistics.intervals import LEVEL, unit_of


@dataclass(frozen=True)
class Visible:
    """The smallest visible difference of a column.

    Attributes:
        difference: the true difference of two cells that is decided with 80% power.
        deviation: the standard deviation over seeds, pooled over cells; with one seed over rows.
        n: the number of seeds of a cell; 1 if the difference is one on the rows that were played.
        paired: whether the rows are paired; `deviation` is then that of the paired differences, pooled over
            pairs of cells.
    """

    difference: float
    deviation: float
    n: int
    paired: bool = False


def smallest(rows: Sequence[Row], column: str, tests: int) -> Visible | None:
    """The smallest visible difference of two cells of a table; None if no cell shows a spread.

    Args:
        tests: the number of claims that are tested together.
    """
    intervals = [row.intervals[column] for row in rows if column in row.intervals]
    spread = [(found.deviation, found.n) for found in intervals if found.deviation]
    if spread:
        pooled, n = deviation(spread), min(count for _, count in spread)
        return Visible(power.smallest_difference(pooled, n, tests), pooled, n)
    level = 1 - (1 - LEVEL) / max(1, tests)
    return _over_pairs(rows, column, level) or _over_rows(rows, column, level)


def _over_pairs(rows: Sequence[Row], column: str, level: float) -> Visible | None:
    """The difference that the test of paired rows sees; None if the cells did not play the same rows."""
    cells = [cell for row in rows if len(cell := row.by_row.get(column, {})) == 1]
    places = shared_rows(*cells) if len(cells) > 1 else []
    if len(places) < 2:
        return None
    values = np.concatenate([table(cell, places) for cell in cells])
    unit = unit_of([float(np.abs(values).max())])
    spread = [float((b - a).std(ddof=1)) for a, b in combinations(values / unit, 2)]
    pooled = unit * math.hypot(*filter(None, spread)) / math.sqrt(sum(map(bool, spread)) or 1)
    if not pooled:
        return None
    shift = power.smallest_paired_shift(len(places), level)
    return Visible(shift * pooled / math.sqrt(len(places)), pooled, 1, paired=True)


def _over_rows(rows: Sequence[Row], column: str, level: float) -> Visible | None:
    """The difference that the test of unpaired rows sees."""
    errors = [(error, row.rows) for row in rows if (error := row.error(column)) and row.rows > 1]
    if not errors:
        return None
    error = math.hypot(*(own for own, _ in errors)) / math.sqrt(len(errors))
    played = min(count for _, count in errors)
    shift = power.smallest_shift(2 * played - 2, level)
    return Visible(shift * error * math.sqrt(2), error * math.sqrt(played), 1)


def deviation(spread: Sequence[tuple[float, int]]) -> float:
    """The pooled standard deviation of samples with these deviations and sizes."""
    freedom = sum(count - 1 for _, count in spread)
    return math.hypot(*(own * math.sqrt(count - 1) for own, count in spread)) / math.sqrt(freedom)
