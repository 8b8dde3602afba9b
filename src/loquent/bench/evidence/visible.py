"""The smallest difference that a table could have seen with 80% power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from loquent.bench.evidence.rows import Row
from loquent.statistics import power
from loquent.statistics.intervals import LEVEL


@dataclass(frozen=True)
class Visible:
    """The smallest visible difference of a column.

    Attributes:
        difference: the true difference of two cells that is decided with 80% power.
        deviation: the standard deviation over seeds, pooled over cells; with one seed over rows.
        n: the number of seeds of a cell; 1 if the difference is one on the rows that were played.
    """

    difference: float
    deviation: float
    n: int


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
    errors = [(error, row.rows) for row in rows if (error := row.error(column)) and row.rows > 1]
    if not errors:
        return None
    error = math.sqrt(sum(own**2 for own, _ in errors) / len(errors))
    played = min(count for _, count in errors)
    shift = power.smallest_shift(2 * played - 2, 1 - (1 - LEVEL) / max(1, tests))
    return Visible(shift * error * math.sqrt(2), error * math.sqrt(played), 1)


def deviation(spread: Sequence[tuple[float, int]]) -> float:
    """The pooled standard deviation of samples with these deviations and sizes."""
    freedom = sum(count - 1 for _, count in spread)
    return math.hypot(*(own * math.sqrt(count - 1) for own, count in spread)) / math.sqrt(freedom)
