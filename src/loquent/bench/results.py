"""The results of a suite: the numbers of every cell, published figures, verdicts and failures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeGuard

from loquent.bench import published
from loquent.bench.jobs import Job, Plan
from loquent.bench.published import Figure
from loquent.bench.suite_schema import Column, Ordering, Suite
from loquent.bench.work import Outcome
from loquent.core.logged import value as measured
from loquent.errors import BadSetting, nearest
from loquent.report.runs import Group, Point, ReportedRun
from loquent.statistics.intervals import Interval, difference, interval

ERRORS = 3.0  # the number of standard errors over episodes that decides between two runs of one seed
HOLDS, CONTRADICTED, UNDECIDED, MISSING = "holds", "contradicted", "undecided", "not measured"


@dataclass(frozen=True)
class Row:
    """The results of a cell.

    `values`, and their standard errors over episodes (`errors`), are by column and seed. `paper` holds the
    published figures by column.
    """

    name: str
    label: str
    task: str
    n: int
    episodes: int
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
        """The standard error over episodes of a single run's number.

        None if there are several runs, or if the error is unknown.
        """
        errors = list(self.errors.get(column, {}).values())
        return errors[0] if len(errors) == len(self.values.get(column, {})) == 1 else None


@dataclass(frozen=True)
class Step:
    """The comparison of two neighbours of an ordering, and the paper's figures for them.

    With a single seed, `error` is the standard error of the difference over the episodes, and the interval is
    the difference ± 3 standard errors.
    """

    low: str
    high: str
    difference: Interval | None
    verdict: str
    paper: tuple[str, str] | None = None
    error: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here, which requires that each of its steps holds.

    `ends` compares the first cell with the last, if there are more than two cells.
    """

    ordering: Ordering
    steps: tuple[Step, ...]
    verdict: str
    ends: Step | None = None

    @property
    def comparisons(self) -> tuple[Step, ...]:
        """The steps, then the comparison of the ends."""
        return (*self.steps, self.ends) if self.ends else self.steps


@dataclass(frozen=True)
class Results:
    """All results of a suite under one profile."""

    suite: Suite
    profile: str
    seeds: int
    rows: Mapping[str, Row]
    verdicts: tuple[Verdict, ...]
    failures: Mapping[str, str]  # by the run's folder
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    machine: Mapping[str, Any] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, tuple[Point, ...]]] = field(default_factory=dict)
    """Means over seeds, by figure and cell."""
    sets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Figures of the sets of recorded episodes, in the suite's order."""

    @property
    def comparisons(self) -> int:
        """The number of differences over seeds, those of the ends included."""
        return sum(
            step.difference is not None and step.error is None
            for verdict in self.verdicts
            for step in verdict.comparisons
        )

    @property
    def single(self) -> int:
        """The number of differences of one seed, which have a standard error over episodes."""
        return sum(step.error is not None for verdict in self.verdicts for step in verdict.comparisons)

    @property
    def about(self) -> str:
        """The description of the profile."""
        return self.suite.profile(self.profile)[1].about


def collect(suite: Suite, profile: str, seeds: int, plan: Plan, outcomes: Mapping[str, Outcome]) -> Results:
    """Collect the outcomes into rows, verdicts and failures."""
    folders = {job.key: job.folder.name for job in plan.jobs}
    rows = {name: _row(suite, name, keys, outcomes, folders) for name, keys in plan.cells.items()}
    failures = {folders[key]: outcome.failure for key, outcome in outcomes.items() if outcome.failure}
    return Results(
        suite,
        profile,
        seeds,
        rows,
        tuple(_verdict(ordering, rows) for ordering in suite.orderings),
        failures,
        _notes(suite, outcomes, len(plan.jobs)),
        round(sum(outcome.seconds for outcome in outcomes.values()), 1),
        curves=_curves(suite, plan, outcomes),
        sets={
            name: figures for name in suite.data if (figures := _figures(plan, outcomes, name)) is not None
        },
    )


def _figures(plan: Plan, outcomes: Mapping[str, Outcome], name: str) -> Mapping[str, Any] | None:
    key = plan.sets.get(name, "")
    return outcomes[key].figures if key in outcomes else None


def compare(low: Mapping[int, float], high: Mapping[int, float]) -> tuple[Interval | None, str]:
    """Whether `high` is above `low`, by the interval of their difference paired by seed.

    The verdict is "undecided" if the interval contains 0 or does not exist. One seed has no interval, and
    neither have equal differences, which do not show their spread.
    """
    interval_of_difference = difference(low, high)
    if interval_of_difference is None:
        return None, MISSING
    if interval_of_difference.low is None or interval_of_difference.high is None:
        return interval_of_difference, UNDECIDED
    return interval_of_difference, _decide(interval_of_difference.low, interval_of_difference.high)


def compare_episodes(difference: float, error: float) -> tuple[Interval, str]:
    """The verdict on a difference of one seed, by its standard error over the episodes.

    The interval is the difference ± 3 standard errors.
    """
    low, high = difference - ERRORS * error, difference + ERRORS * error
    return Interval(difference, low, high, None, 1), _decide(low, high)


def _decide(low: float, high: float) -> str:
    return HOLDS if low > 0 else CONTRADICTED if high < 0 else UNDECIDED


def _row(
    suite: Suite,
    name: str,
    keys: Mapping[int, str],
    outcomes: Mapping[str, Outcome],
    folders: Mapping[str, str],
) -> Row:
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


def _curves(
    suite: Suite, plan: Plan, outcomes: Mapping[str, Outcome]
) -> dict[str, dict[str, tuple[Point, ...]]]:
    """The curves by figure and cell, over the finished runs.

    A cell without logged values has no curve.
    """
    trained = (job for job in plan.jobs if isinstance(job, Job) and not job.agent)
    folders = {job.key: job.folder for job in trained if job.key in outcomes and outcomes[job.key].evaluation}
    groups = {
        name: Group(
            suite.cells[name].label or name,
            tuple(ReportedRun(folders[key]) for key in plan.cells[name].values() if key in folders),
        )
        for drawing in suite.figures
        for name in drawing.cells
    }
    curves = {
        drawing.title: {name: tuple(groups[name].curve(drawing.key)) for name in drawing.cells}
        for drawing in suite.figures
    }
    return {
        title: {name: points for name, points in lines.items() if points} for title, lines in curves.items()
    }


def _is_finite(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _verdict(ordering: Ordering, rows: Mapping[str, Row]) -> Verdict:
    names = ordering.rising
    steps = tuple(_step(ordering.column, rows[low], rows[high]) for low, high in pairwise(names))
    ends = _step(ordering.column, rows[names[0]], rows[names[-1]]) if len(names) > 2 else None
    return Verdict(ordering, steps, _whole([step.verdict for step in steps]), ends)


def _step(column: str, low: Row, high: Row) -> Step:
    interval, verdict = compare(low.values[column], high.values[column])
    error = _error(low, high, column) if interval is not None and interval.n == 1 else None
    if interval is not None and error is not None:
        interval, verdict = compare_episodes(interval.mean, error)
    low_figure, high_figure = low.paper.get(column), high.paper.get(column)
    paper = (low_figure.text, high_figure.text) if low_figure and high_figure else None
    return Step(low.name, high.name, interval, verdict, paper, error)


def _error(low: Row, high: Row, column: str) -> float | None:
    """The standard error of the difference for the only seed that both rows have.

    None if an error is unknown, or if both are 0.
    """
    (seed,) = low.values[column].keys() & high.values[column].keys()
    low_error, high_error = (row.errors.get(column, {}).get(seed) for row in (low, high))
    if low_error is None or high_error is None:
        return None
    return math.hypot(low_error, high_error) or None


def _whole(verdicts: Sequence[str]) -> str:
    """The verdict on a claim: one contradicted step contradicts it, and it holds if every step holds."""
    for verdict in (CONTRADICTED, MISSING, UNDECIDED):
        if verdict in verdicts:
            return verdict
    return HOLDS


def _notes(suite: Suite, outcomes: Mapping[str, Outcome], planned: int) -> tuple[str, ...]:
    """Notes on missing runs, on different versions or threads, and on columns that no run measured."""
    evaluated = [outcome for outcome in outcomes.values() if outcome.evaluation]
    notes = []
    if len(outcomes) < planned:
        notes.append(f"{len(outcomes)} of {planned} runs have ended so far")
    for name, settings in (
        ("versions of Loquent", [outcome.version for outcome in evaluated]),
        ("numbers of torch's threads", [str(outcome.threads) for outcome in evaluated]),
    ):
        if len(set(settings)) > 1:
            counts = (f"{value} ({settings.count(value)} runs)" for value in sorted(set(settings)))
            notes.append(f"the tables compare runs made with different {name}: {', '.join(counts)}")
    for column in suite.columns.values():
        lines = [
            outcome.logged if column.logged else outcome.evaluation["values"]
            for outcome in evaluated
            if outcome.evaluation
        ]
        has_value = (column.metric in line or measured(line, column.metric) is not None for line in lines)
        if evaluated and not any(has_value):
            near = nearest(column.metric, {key for line in lines for key in line})
            notes.append(f"no run measured {column.metric!r}" + (f" (nearest: {near})" if near else ""))
    return tuple(notes)


def check(suite: Suite) -> None:
    """Check that every published row that a suite names exists.

    Raises:
        BadSetting: a row does not exist.
    """
    for name, entry in suite.cells.items():
        if entry.published:
            try:
                published.load(suite.paper).row(entry.published)
            except LookupError as error:
                raise BadSetting(f"suite {suite.name}, {name}: published: {error}") from error
