"""The rows of a suite's tables: the numbers of every cell, with the published figures beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loquent.bench.evidence.care import Care
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.schema import paper_tables
from loquent.bench.schema.paper_tables import Figure
from loquent.bench.schema.suite_schema import Column, Suite
from loquent.core.guards.json_files import is_number
from loquent.core.log_keys import value as measured
from loquent.core.metric import Range
from loquent.files import final_evaluation
from loquent.report.ranges import HELD_OUT, cut, limits
from loquent.statistics import two_way
from loquent.statistics.intervals import FEWEST, Interval, interval


@dataclass(frozen=True)
class Row:
    """The results of a cell.

    `values`, and their standard errors over rows (`errors`), are by column and seed. `by_row` has, for the
    columns that are means over episodes, the mean on each row by seed. `both` has the intervals over seeds
    and rows of these columns, for 3 seeds or more. Intervals end at the range of their column (`ends`).
    `paper` holds the published figures by column.
    """

    name: str
    label: str
    task: str
    n: int
    episodes: int
    rows: int  # the number of different rows that a run played; 0 if it is not known
    values: Mapping[str, Mapping[int, float]]
    intervals: Mapping[str, Interval]
    paper: Mapping[str, Figure]
    source: str
    paper_seeds: int | None  # none: the paper does not say
    failures: Mapping[int, str]
    seconds: float
    folders: tuple[str, ...] = ()
    paper_place: str = ""
    paper_quote: str = ""
    errors: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    by_row: Mapping[str, Mapping[int, Mapping[str, float]]] = field(default_factory=dict)
    both: Mapping[str, Interval] = field(default_factory=dict)
    ends: Mapping[str, Range] = field(default_factory=dict)
    decoding: str = ""  # of the evaluations; "" without a run
    care: Care = field(default_factory=Care)

    @property
    def tuning(self) -> str:
        """What the search for the settings cost; "" if they were not searched."""
        return str(self.care.tuning) if self.care.tuning else ""

    def error(self, column: str) -> float | None:
        """The standard error over rows of a single run's number.

        None if there are several runs, or if the error is unknown.
        """
        errors = list(self.errors.get(column, {}).values())
        return errors[0] if len(errors) == len(self.values.get(column, {})) == 1 else None

    def count_shared(self, column: str) -> int:
        """The number of rows that the values by row of all seeds share."""
        return len(shared_rows(self.by_row.get(column, {})))


def row(
    suite: Suite,
    name: str,
    keys: Mapping[int, str],
    outcomes: Mapping[str, Outcome],
    folders: Mapping[str, str],
) -> Row:
    """The row of a cell, from the outcomes of its runs."""
    runs = {seed: outcomes[key] for seed, key in keys.items() if key in outcomes}
    evaluations = {seed: run.evaluation for seed, run in runs.items() if run.evaluation is not None}
    values = {column: _values(settings, runs, evaluations) for column, settings in suite.columns.items()}
    by_row = {
        column: own
        for column, settings in suite.columns.items()
        if (own := _by_row(settings, values[column], runs))
    }
    ends = {
        column: limits(
            settings.metric if settings.logged else HELD_OUT + settings.metric,
            values[column].values(),
            evaluations.values(),
        )
        for column, settings in suite.columns.items()
    }
    rows = max((_rows(runs[seed]) for seed in evaluations), default=0)
    entry = suite.cells[name]
    table, paper = paper_tables.row(suite.paper, entry.published) if entry.published else (None, {})
    return Row(
        name=name,
        label=entry.label or name,
        task=", ".join(sorted({str(evaluation["task"]) for evaluation in evaluations.values()})),
        decoding="; ".join(sorted({final_evaluation.decoding(own) for own in evaluations.values()})),
        n=len(evaluations),
        rows=rows,
        episodes=max((int(evaluation["n"]) for evaluation in evaluations.values()), default=0),
        values=values,
        intervals={
            column: cut(interval(list(by_seed.values())), ends[column])
            for column, by_seed in values.items()
            if by_seed
        },
        paper={column: figure for column, figure in paper.items() if column in suite.columns},
        source=f"{table.title}; {table.place}; row {entry.published.partition('/')[2]}" if table else "",
        paper_seeds=table.seeds if table else None,
        failures={seed: run.failure for seed, run in runs.items() if run.failure},
        seconds=round(sum(run.seconds for run in runs.values()), 1),
        folders=tuple(folders[key] for key in keys.values() if key in folders),
        paper_place=f"{table.title}; {table.place}" if table else "",
        paper_quote=table.quote if table else "",
        errors={column: _errors(settings, runs, evaluations) for column, settings in suite.columns.items()},
        by_row=by_row,
        ends=ends,
        both={
            column: cut(found, ends[column])
            for column, own in by_row.items()
            if (found := _both(own, values[column], rows)) is not None
        },
    )


def _values(
    column: Column, runs: Mapping[int, Outcome], evaluations: Mapping[int, Mapping[str, Any]]
) -> dict[int, float]:
    """A column's value of each evaluated run, by seed."""
    values = {}
    for seed, evaluation in evaluations.items():
        line = runs[seed].logged if column.logged else evaluation["values"]
        if is_number(value := measured(line, column.metric)):
            values[seed] = float(value)
    return values


def _rows(run: Outcome) -> int:
    """The number of rows that a run's evaluation played; 0 if it is not known."""
    if run.played is not None:
        return run.played.count
    return int(run.evaluation.get("rows", 0)) if run.evaluation else 0


def _errors(
    column: Column, runs: Mapping[int, Outcome], evaluations: Mapping[int, Mapping[str, Any]]
) -> dict[int, float]:
    """The standard errors over rows of a column's values, by seed; logged values have none.

    They are computed from the episodes. Without them, they are those of the evaluation, unless an earlier
    version wrote it: its errors count all episodes on one row as independent.
    """
    if column.logged:
        return {}
    errors = {}
    for seed, evaluation in evaluations.items():
        played = runs[seed].played
        error = played.error(column.metric) if played is not None else None
        if error is None and "rows" in evaluation:
            error = evaluation.get("errors", {}).get(column.metric)
        if is_number(error):
            errors[seed] = float(error)
    return errors


def _by_row(
    column: Column, values: Mapping[int, float], runs: Mapping[int, Outcome]
) -> dict[int, Mapping[str, float]]:
    """A column's mean on each row, by seed; empty if a run with a value does not have it."""
    if column.logged:
        return {}
    played = {seed: runs[seed].played for seed in values}
    own = {seed: found.by_row(column.metric) for seed, found in played.items() if found is not None}
    present: dict[int, Mapping[str, float]] = {
        seed: numbers for seed, numbers in own.items() if numbers is not None
    }
    return present if len(present) == len(values) else {}


def table(by_row: Mapping[int, Mapping[str, float]], rows: Sequence[str]) -> two_way.Values:
    """The numbers of these rows: float64[seeds, rows]."""
    return np.array([[numbers[row] for row in rows] for numbers in by_row.values()])


def shared_rows(*cells: Mapping[int, Mapping[str, float]]) -> list[str]:
    """The rows on which all seeds of all cells have a number.

    Empty if they are fewer than half of the rows of a run, or a single one of several.
    """
    sets = [frozenset(numbers) for by_seed in cells for numbers in by_seed.values()]
    if not sets:
        return []
    rows, most = frozenset.intersection(*sets), max(map(len, sets))
    return sorted(rows) if len(rows) >= max(most / 2, min(2, most)) else []


def _both(
    by_row: Mapping[int, Mapping[str, float]], values: Mapping[int, float], played: int
) -> Interval | None:
    """The interval over seeds and rows of the mean of these values; None if there is none.

    If some of the `played` rows are left out, it is that of the mean over the others.
    """
    rows = shared_rows(by_row)
    if len(by_row) < FEWEST or len(rows) < 2:
        return None
    middle = sum(values.values()) / len(values) if len(rows) == played else None
    found = two_way.interval(table(by_row, rows), middle)
    return None if found.low is None else found
