"""The rows of a suite's tables: the numbers of every cell, with the published figures beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from loquent.bench import published
from loquent.bench.published import Figure
from loquent.bench.suite_schema import Column, Suite
from loquent.bench.work import Outcome
from loquent.core.logged import value as measured
from loquent.statistics.intervals import Interval, interval


@dataclass(frozen=True)
class Row:
    """The results of a cell.

    `values`, and their standard errors over rows (`errors`), are by column and seed. `paper` holds the
    published figures by column.
    """

    name: str
    label: str
    task: str
    n: int
    episodes: int
    rows: int  # the number of different rows that a run played
    values: Mapping[str, Mapping[int, float]]
    intervals: Mapping[str, Interval]
    paper: Mapping[str, Figure]
    source: str
    paper_seeds: int
    failures: Mapping[int, str]
    seconds: float
    folders: tuple[str, ...] = ()
    paper_place: str = ""
    paper_quote: str = ""
    errors: Mapping[str, Mapping[int, float]] = field(default_factory=dict)

    def error(self, column: str) -> float | None:
        """The standard error over rows of a single run's number.

        None if there are several runs, or if the error is unknown.
        """
        errors = list(self.errors.get(column, {}).values())
        return errors[0] if len(errors) == len(self.values.get(column, {})) == 1 else None


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
    entry = suite.cells[name]
    table, paper = published.load(suite.paper).row(entry.published) if entry.published else (None, {})
    return Row(
        name=name,
        label=entry.label or name,
        task=", ".join(sorted({str(evaluation["task"]) for evaluation in evaluations.values()})),
        n=len(evaluations),
        rows=max(
            (int(evaluation.get("rows", evaluation["n"])) for evaluation in evaluations.values()), default=0
        ),
        episodes=max((int(evaluation["n"]) for evaluation in evaluations.values()), default=0),
        values=values,
        intervals={column: interval(list(by_seed.values())) for column, by_seed in values.items() if by_seed},
        paper={column: figure for column, figure in paper.items() if column in suite.columns},
        source=f"{table.title}; {table.place}; row {entry.published.partition('/')[2]}" if table else "",
        paper_seeds=table.seeds if table else 0,
        failures={seed: run.failure for seed, run in runs.items() if run.failure},
        seconds=round(sum(run.seconds for run in runs.values()), 1),
        folders=tuple(folders[key] for key in keys.values() if key in folders),
        paper_place=f"{table.title}; {table.place}" if table else "",
        paper_quote=table.quote if table else "",
        errors={column: _errors(settings, evaluations) for column, settings in suite.columns.items()},
    )


def _values(
    column: Column, runs: Mapping[int, Outcome], evaluations: Mapping[int, Mapping[str, Any]]
) -> dict[int, float]:
    """A column's value of each evaluated run, by seed."""
    values = {}
    for seed, evaluation in evaluations.items():
        line = runs[seed].logged if column.logged else evaluation["values"]
        if _is_finite(value := measured(line, column.metric)):
            values[seed] = float(value)
    return values


def _errors(column: Column, evaluations: Mapping[int, Mapping[str, Any]]) -> dict[int, float]:
    """The standard errors over episodes of a column's values, by seed; logged values have none."""
    if column.logged:
        return {}
    errors = {seed: item.get("errors", {}).get(column.metric) for seed, item in evaluations.items()}
    return {seed: float(error) for seed, error in errors.items() if _is_finite(error)}


def _is_finite(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
