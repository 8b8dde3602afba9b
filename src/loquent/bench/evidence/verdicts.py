"""Verdicts on the claims of a suite: one test for each claim, corrected for their number in each table.

The rule is fixed before the runs are made. All cells play the same rows, and each method has its own effect
on each row, which no seed changes. So with 3 seeds or more of each cell, and values by row, two cells are
compared over seeds and rows (`statistics.two_way`): p is the larger of that of Welch's test over seeds and of
that over both. They are compared on the rows that all their runs have a number on, and have no test if these
are fewer than half. Columns without values by row, such as scores of a whole corpus, and cells with 2 seeds
are compared over seeds alone, and their verdict is about these rows. Seeds are not paired unless the ordering
says `paired`. An ordering of several cells is one test. Holm's method corrects the tests of one table
together: if no two cells of it differ, at most 5% of such tables have a decided claim (docs/evidence.md). A
claim without a test counts as p = 1: which runs succeeded, or which cells `--only` chose, must not decide how
many tests the others are corrected for, and `loquent bench SUITE --power` and the smallest visible difference
count it too.

A cell with one seed has no test about methods. Its difference from another is tested over the rows that they
played, by the mean of the other's seeds on each row if it has several, and its verdict is about these runs
and rows alone. The rows are paired if both cells played the same rows and their episodes were kept. Unpaired,
the test is a bound, and no interval is given. If all rows of one cell gave 1 and all of the other 0, nothing
varies and the test is Fisher's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from loquent.bench.evidence.rows import Row, shared_rows, table
from loquent.bench.schema.suite_schema import Ordering, Suite
from loquent.statistics import comparing, two_way
from loquent.statistics.comparing import Difference, OrderTest
from loquent.statistics.intervals import FEWEST, LEVEL

HOLDS, CONTRADICTED, UNDECIDED, MISSING = "holds", "contradicted", "undecided", "not measured"
BOTH, SEEDS, ROWS = "seeds and rows", "seeds", "rows"  # what varies in a test
ACROSS = "across tables"  # the family of claims whose cells stand in no common table


@dataclass(frozen=True)
class Step:
    """The comparison of two neighbours of an ordering, and the paper's figures for them.

    `over` is what varies in the difference's interval and test. `verdict` is that of this comparison alone,
    without a correction. `rows` and `episodes` are the numbers that the evaluations of the two cells played,
    `seeds` those of their values. `compared` is the number of rows that all runs share and the test pairs; 0
    if it pairs none.
    """

    low: str
    high: str
    difference: Difference | None
    verdict: str
    over: str = SEEDS
    paper: tuple[str, str] | None = None
    rows: tuple[int, int] = (0, 0)
    episodes: tuple[int, int] = (0, 0)
    seeds: tuple[int, int] = (0, 0)
    compared: int = 0


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
        """Whether a step has a cell with one seed, and is tested over rows."""
        return self.over == ROWS

    @property
    def over(self) -> str:
        """What varies in the claim's test: what varies in all of its steps."""
        steps = {step.over for step in self.steps}
        return next((varies for varies in (ROWS, SEEDS, BOTH) if varies in steps), SEEDS)


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
            verdicts[i] = verdicts[i] if test is None else _with_decision(verdicts[i], test, p)
    return tuple(verdicts)


def family(suite: Suite, ordering: Ordering) -> str:
    """The title of the first table that has all cells of an ordering; `ACROSS` if there is none."""
    if not suite.tables:
        return suite.title
    titles = (table.title for table in suite.tables if set(ordering.rising) <= set(table.cells))
    return next(titles, ACROSS)


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
    return comparing.of_means(values[1] - values[0], error, comparing.welch(parts), 1, scale=scale)


def _counts(values: Sequence[float], rows: Sequence[int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """The rows with a success, and all rows, of two cells whose rows all gave 0 or all gave 1."""
    first, second = rows
    return (round(values[0]) * first, round(values[1]) * second), (first, second)


def compare_paired_rows(
    low: Mapping[str, float], high: Mapping[str, float], middle: float | None = None
) -> Difference | None:
    """The difference of two cells with one seed each, over the rows that both played, by the mean on each.

    None if they played other rows, or fewer than 2.

    Args:
        middle: the difference over all episodes, where rows are not played equally often.
    """
    rows = shared_rows({0: low}, {0: high})
    if len(rows) < 2:
        return None
    first, second = ({i: numbers[row] for i, row in enumerate(rows)} for numbers in (low, high))
    found = comparing.between(first, second, paired=True, middle=middle)
    return None if found is None or found.error is None else replace(found, n=1)


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


def _with_decision(verdict: Verdict, test: OrderTest, corrected: float) -> Verdict:
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
    difference, over, compared = _difference(column, low, high, paired)
    verdict = MISSING
    if difference is not None:
        verdict = decide(difference.p, difference.mean > 0)
    low_figure, high_figure = low.paper.get(column), high.paper.get(column)
    return Step(
        low.name,
        high.name,
        difference,
        verdict,
        over,
        paper=(low_figure.text, high_figure.text) if low_figure and high_figure else None,
        rows=(low.rows, high.rows),
        episodes=(low.episodes, high.episodes),
        seeds=(len(low.values[column]), len(high.values[column])),
        compared=compared,
    )


def _difference(column: str, low: Row, high: Row, paired: bool) -> tuple[Difference | None, str, int]:
    """The difference of two cells, what varies in its test, and the number of rows that the test pairs."""
    difference = comparing.between(low.values[column], high.values[column], paired=paired)
    if difference is None:
        return None, SEEDS, 0
    cells = _by_row(column, low, high, paired)
    rows = shared_rows(*cells) if all(cells) else []
    middle = difference.mean if len(rows) == low.rows == high.rows else None
    if difference.n == 1:
        if len(rows) > 1 and (on_rows := _over_paired_rows(cells, rows, middle)) is not None:
            return on_rows, ROWS, len(rows)
        apart = _over_rows(low, high, column)
        return (difference, SEEDS, 0) if apart is None else (apart, ROWS, 0)
    if all(cells) and not rows:
        return Difference(difference.mean, None, None, None, difference.n), BOTH, 0
    if len(rows) < 2 or min(map(len, cells)) < FEWEST:
        return difference, SEEDS, 0
    return _over_both(cells, rows, paired, middle), BOTH, len(rows)


def _by_row(column: str, low: Row, high: Row, paired: bool) -> list[Mapping[int, Mapping[str, float]]]:
    """The values by row of both cells, of equal seeds if they are paired."""
    cells = [row.by_row.get(column, {}) for row in (low, high)]
    seeds = set.intersection(*map(set, cells)) if paired else set.union(*map(set, cells))
    return [{seed: cell[seed] for seed in sorted(seeds & cell.keys())} for cell in cells]


def _over_both(
    cells: Sequence[Mapping[int, Mapping[str, float]]],
    rows: Sequence[str],
    paired: bool,
    middle: float | None,
) -> Difference:
    """The difference over seeds and these rows."""
    low, high = (table(cell, rows) for cell in cells)
    return two_way.interval(high - low, middle) if paired else two_way.difference(low, high, middle)


def _over_paired_rows(
    cells: Sequence[Mapping[int, Mapping[str, float]]], rows: Sequence[str], middle: float | None
) -> Difference | None:
    """The difference of two cells over these rows, by the mean of their seeds on each."""
    low, high = (dict(zip(rows, table(cell, rows).mean(0).tolist(), strict=True)) for cell in cells)
    return compare_paired_rows(low, high, middle)


def _over_rows(low: Row, high: Row, column: str) -> Difference | None:
    """The difference over rows that are not paired; None if a cell has several seeds or no error."""
    errors = [error for row in (low, high) if (error := _error(row, column)) is not None]
    if len(errors) < 2:
        return None
    values = [next(iter(row.values[column].values())) for row in (low, high)]
    return compare_rows(values, errors, [low.rows, high.rows])


def _error(row: Row, column: str) -> float | None:
    """The standard error of a cell over its rows, which is 0 if all rows gave one number; None if unknown."""
    cells = list(row.by_row.get(column, {}).values())
    if len(cells) == 1 and len(cells[0]) > 1 and len(set(cells[0].values())) == 1:
        return 0.0
    return row.error(column)
