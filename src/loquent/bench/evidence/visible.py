"""The smallest difference that a table could have seen with 80% power."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from loquent.bench.evidence.rows import Row, shared_rows, table
from loquent.statistics import power, two_way
from loquent.statistics.intervals import FEWEST, unit_of
from loquent.statistics.power import Errors


@dataclass(frozen=True)
class Visible:
    """The smallest visible difference of a column.

    Attributes:
        difference: the true difference of two cells that is decided with 80% power.
        deviation: the standard deviation over seeds, pooled over cells; with one seed over rows.
        n: the number of seeds of a cell; 1 if the difference is one on the rows that were played.
        errors: the standard errors of a difference of two cells, pooled over cells.
    """

    difference: float
    deviation: float
    n: int
    errors: Errors

    @property
    def paired(self) -> bool:
        """Whether the rows of one seed are paired; `deviation` is then that of the paired differences."""
        return self.errors.samples == 1


def smallest(rows: Sequence[Row], column: str, tests: int) -> Visible | None:
    """The smallest visible difference of two cells of a table; None if no cell shows a spread.

    Args:
        tests: the number of claims that are tested together.
    """
    intervals = [row.intervals[column] for row in rows if column in row.intervals]
    spread = [(found.deviation, found.n) for found in intervals if found.deviation]
    if spread:
        pooled, n = deviation(spread), min(count for _, count in spread)
        errors = power.of_seeds(pooled, n)
        if n >= FEWEST:
            errors = _with_rows(errors, rows, column)
        return Visible(power.smallest(errors, tests), pooled, n, errors)
    return _over_pairs(rows, column, tests) or _over_rows(rows, column, tests)


def _with_rows(errors: Errors, rows: Sequence[Row], column: str) -> Errors:
    """The errors with those over rows, pooled over pairs of cells; the same without values by row."""
    cells = [row.by_row.get(column, {}) for row in rows if row.values.get(column)]
    places = shared_rows(*cells) if len(cells) > 1 else []
    if len(places) < 2 or min(map(len, cells)) < 2:
        return errors
    values = [table(cell, places) for cell in cells]
    unit = unit_of([float(np.abs(own).max()) for own in values])
    pairs = [two_way.spread_between(low / unit, high / unit) for low, high in combinations(values, 2)]
    squares = [pair.rows[0] for pair in pairs], [pair.rest[0] for pair in pairs]
    row, rest = (unit * math.sqrt(sum(own) / len(pairs)) for own in squares)
    return Errors(errors.seeds, errors.runs, row, rest, len(places))


def _over_pairs(rows: Sequence[Row], column: str, tests: int) -> Visible | None:
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
    errors = Errors(pooled / math.sqrt(len(places)), len(places), samples=1)
    return Visible(power.smallest(errors, tests), pooled, 1, errors)


def _over_rows(rows: Sequence[Row], column: str, tests: int) -> Visible | None:
    """The difference that the test of unpaired rows sees."""
    found = [(error, row.rows) for row in rows if (error := row.error(column)) and row.rows > 1]
    if not found:
        return None
    error = math.hypot(*(own for own, _ in found)) / math.sqrt(len(found))
    errors = Errors(error * math.sqrt(2), min(count for _, count in found))
    return Visible(power.smallest(errors, tests), error * math.sqrt(errors.runs), 1, errors)


def deviation(spread: Sequence[tuple[float, int]]) -> float:
    """The pooled standard deviation of samples with these deviations and sizes."""
    freedom = sum(count - 1 for _, count in spread)
    return math.hypot(*(own * math.sqrt(count - 1) for own, count in spread)) / math.sqrt(freedom)
