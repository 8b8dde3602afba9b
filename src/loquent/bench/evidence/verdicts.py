"""Verdicts on the claims of a suite: one test for each claim, corrected for their number in each table.

The rule is fixed before the runs are made. Two cells are compared over their seeds by Welch's test, which
skewness stretches (see `statistics.comparing`), unpaired unless the ordering says `paired`. An ordering of
several cells is one test. Holm's method corrects the tests of one table together: if no two cells of it
differ, at most 5% of such tables have a decided claim, but 4 to 19% if in every pair both cells are skewed
and one varies four times as much as the other. A claim without a test counts as p = 1: which runs
succeeded, or which cells `--only` chose, must not decide how many tests the others are corrected for, and
`loquent bench SUITE --power` and the smallest visible difference count it too.

Cells with one seed each have no test about methods. Their difference is tested over the rows that they
played, and its verdict is about these rows alone. The rows are paired if both cells played the same rows and
their episodes were kept. Unpaired, the test is a bound, and no interval is given. If all rows of one cell
gave 1 and all of the other 0, nothing varies and the test is Fisher's.

The test over seeds is about the rows that were played. Beside it stands the interval of the difference over
seeds and rows, where the column is a mean over episodes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from loquent.bench.evidence.rows import Row, recentre, shared_rows, table
from loquent.bench.schema.suite_schema import Ordering, Suite
from loquent.statistics import comparing, two_way
from loquent.statistics.comparing import Difference, OrderTest
from loquent.statistics.intervals import LEVEL

HOLDS, CONTRADICTED, UNDECIDED, MISSING = "holds", "contradicted", "undecided", "not measured"
ACROSS = "across tables"  # the family of claims whose cells stand in no common table


@dataclass(frozen=True)
class Step:
    """The comparison of two neighbours of an ordering, and the paper's figures for them.

    `verdict` is that of this comparison alone, without a correction. With a single seed, `error` is the
    standard error of the difference over the rows (0 with Fisher's test), and the interval is over rows.
    `both` is the difference with its interval over seeds and rows. `rows` and `episodes` are the numbers that
    the evaluations of the two cells played.
    """

    low: str
    high: str
    difference: Difference | None
    verdict: str
    paper: tuple[str, str] | None = None
    error: float | None = None
    both: Difference | None = None
    rows: tuple[int, int] = (0, 0)
    episodes: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Verdict:
    """The decision about a claim.

    Attributes:
        verdict: the decision about the methods, corrected for the number of tests of its table.
        ends: the comparison of the first cell with the last, if there are more than two cells; it decides
            nothing.
        table: the title of the table whose tests are corrected together.
        tests: the number of claims of this table, which p is corrected for.
        p: the p-value of the claim's own test; None if it has none.
        corrected: the p-value after Holm's correction.
        uncorrected: the decision without the correction.
        on_rows: with one seed, the corrected decision about the rows that were played; else "".
    """

    ordering: Ordering
    steps: tuple[Step, ...]
    verdict: str
    ends: Step | None = None
    table: str = ""
    tests: int = 0
    p: float | None = None
    corrected: float | None = None
    uncorrected: str = UNDECIDED
    on_rows: str = ""

    @property
    def comparisons(self) -> tuple[Step, ...]:
        """The steps, then the comparison of the ends."""
        return (*self.steps, self.ends) if self.ends else self.steps

    @property
    def effect(self) -> Step:
        """The comparison of the first cell with the last."""
        return self.ends or self.steps[0]

    @property
    def single(self) -> bool:
        """Whether a step has one seed alone."""
        return any(step.error is not None for step in self.steps)


def judge(suite: Suite, rows: Mapping[str, Row]) -> tuple[Verdict, ...]:
    """The verdicts on all claims of a suite, in its order."""
    verdicts = [_verdict(ordering, rows) for ordering in suite.orderings]
    tests = [_test(verdict.steps) for verdict in verdicts]
    tables = [family(suite, ordering) for ordering in suite.orderings]
    whole = suite.whole or suite
    claims = Counter(family(whole, ordering) for ordering in whole.orderings)
    for title in dict.fromkeys(tables):
        members = [i for i, table in enumerate(tables) if table == title]
        made = [tests[i] for i in members] + [None] * (claims[title] - len(members))
        corrected = comparing.holm([1.0 if test is None else test.p for test in made])
        for i, test, p in zip(members, made, corrected, strict=False):
            verdicts[i] = replace(verdicts[i], table=title, tests=claims[title])
            verdicts[i] = verdicts[i] if test is None else _decided(verdicts[i], test, p)
    return tuple(verdicts)


def family(suite: Suite, ordering: Ordering) -> str:
    """The title of the first table that has all cells of an ordering; `ACROSS` if there is none."""
    if not suite.tables:
        return suite.title
    titles = (table.title for table in suite.tables if set(ordering.rising) <= set(table.cells))
    return next(titles, ACROSS)


def compare(low: Mapping[int, float], high: Mapping[int, float], paired: bool = False) -> Difference | None:
    """The difference of two cells over their seeds."""
    return comparing.between(low, high, paired=paired)


def compare_rows(values: Sequence[float], errors: Sequence[float], rows: Sequence[int]) -> Difference | None:
    """The difference of two cells with one seed each, over rows that are not paired; without an interval.

    A cell whose rows all gave one number does not show how rows vary: they are taken to vary as those of the
    other cell. Without this, 3 successes of 3 would differ from 90 of 100 in 72% of suites with equal cells.
    If one cell succeeded on all rows and the other on none, the test is Fisher's, which needs no spread.

    Args:
        values: the values of the lower and of the higher cell.
        errors: the standard errors of the two means over rows; 0 if all rows gave one number.
        rows: the numbers of rows behind them.
    """
    if min(rows) < 2:
        return None
    if not any(errors):
        return comparing.fisher(*_counts(values, rows)) if sorted(values) == [0.0, 1.0] else None
    first, second = errors
    sizes = math.sqrt(rows[0]), math.sqrt(rows[1])
    errors = first or second * sizes[1] / sizes[0], second or first * sizes[0] / sizes[1]
    error = math.hypot(*errors)
    parts = [((own / error) ** 2, count - 1) for own, count in zip(errors, rows, strict=True)]
    scale = max(map(abs, values))
    found = comparing.of_means(values[1] - values[0], error, comparing.welch(parts), 1, scale=scale)
    return replace(found, low=None, high=None)


def _counts(values: Sequence[float], rows: Sequence[int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """The rows with a success, and all rows, of two cells whose rows all gave 0 or all gave 1."""
    first, second = rows
    return (round(values[0]) * first, round(values[1]) * second), (first, second)


def compare_paired_rows(low: Mapping[str, float], high: Mapping[str, float]) -> Difference | None:
    """The difference of two cells with one seed each, over the rows that both played, by the mean on each.

    None if they played other rows, or fewer than 2.
    """
    rows = shared_rows({0: low}, {0: high})
    if len(rows) < 2:
        return None
    first, second = ({i: numbers[row] for i, row in enumerate(rows)} for numbers in (low, high))
    found = comparing.between(first, second, paired=True)
    return None if found is None or found.error is None else replace(found, n=1, sample=len(rows))


def decide(p: float | None, rises: bool) -> str:
    """The verdict of a p-value at the level of 5%."""
    if p is None or p > 1 - LEVEL + 1e-12:
        return UNDECIDED
    return HOLDS if rises else CONTRADICTED


def _verdict(ordering: Ordering, rows: Mapping[str, Row]) -> Verdict:
    """The claim's comparisons, before any decision."""
    names = ordering.rising
    steps = tuple(
        step(ordering.column, rows[low], rows[high], ordering.paired) for low, high in pairwise(names)
    )
    first, last = rows[names[0]], rows[names[-1]]
    ends = step(ordering.column, first, last, ordering.paired) if len(names) > 2 else None
    missing = any(found.difference is None for found in steps)
    return Verdict(ordering, steps, MISSING if missing else UNDECIDED, ends)


def _test(steps: Sequence[Step]) -> OrderTest | None:
    """The one test of an ordering; None if a step has no spread."""
    differences = [step.difference for step in steps]
    above = [difference.above for difference in differences if difference is not None]
    known = [p for p in above if p is not None]
    return comparing.order(known) if len(known) == len(steps) else None


def _decided(verdict: Verdict, test: OrderTest, corrected: float) -> Verdict:
    decision = decide(corrected, test.rises)
    return replace(
        verdict,
        verdict=UNDECIDED if verdict.single else decision,
        on_rows=decision if verdict.single else "",
        p=test.p,
        corrected=corrected,
        uncorrected=decide(test.p, test.rises),
    )


def step(column: str, low: Row, high: Row, paired: bool = False) -> Step:
    """The comparison of two cells in a column, alone."""
    difference = compare(low.values[column], high.values[column], paired)
    error = None
    if difference is not None and difference.n == 1:
        on_rows = _over_rows(low, high, column)
        difference, error = (difference, None) if on_rows is None else (on_rows, on_rows.error or 0.0)
    verdict = MISSING
    if difference is not None:
        verdict = decide(difference.p, difference.mean > 0)
    low_figure, high_figure = low.paper.get(column), high.paper.get(column)
    paper = (low_figure.text, high_figure.text) if low_figure and high_figure else None
    return Step(
        low.name,
        high.name,
        difference,
        verdict,
        paper,
        error,
        _over_both(low, high, column),
        (low.rows, high.rows),
        (low.episodes, high.episodes),
    )


def _over_both(low: Row, high: Row, column: str) -> Difference | None:
    """The difference over seeds and rows; None if it has no interval."""
    cells = [row.by_row.get(column, {}) for row in (low, high)]
    rows = shared_rows(*cells)
    if len(rows) < 2 or min(map(len, cells)) < 2:
        return None
    found = two_way.difference(*(table(cell, rows) for cell in cells))
    return None if found.low is None else recentre(found, _mean(high, column) - _mean(low, column))


def _mean(row: Row, column: str) -> float:
    """The mean of a column over the seeds of a cell."""
    values = row.values[column].values()
    return sum(values) / len(values)


def _over_rows(low: Row, high: Row, column: str) -> Difference | None:
    """The difference of two cells over their rows; None if a cell has several seeds or an unknown error."""
    cells = [row.by_row.get(column, {}) for row in (low, high)]
    if all(len(cell) == 1 for cell in cells):
        first, second = (next(iter(cell.values())) for cell in cells)
        if (paired := compare_paired_rows(first, second)) is not None:
            return recentre(paired, _mean(high, column) - _mean(low, column))
    errors = [error for row in (low, high) if (error := _error(row, column)) is not None]
    if len(errors) < 2:
        return None
    values = [_mean(row, column) for row in (low, high)]
    return compare_rows(values, errors, [low.rows, high.rows])


def _error(row: Row, column: str) -> float | None:
    """The standard error of a cell over its rows, which is 0 if all rows gave one number; None if unknown."""
    cells = list(row.by_row.get(column, {}).values())
    if len(cells) == 1 and len(cells[0]) > 1 and len(set(cells[0].values())) == 1:
        return 0.0
    return row.error(column)
