"""What a suite found: every cell's numbers with their intervals, the published ones, the verdicts, and the
failures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeGuard

from loquent.bench import published
from loquent.bench.jobs import Job, Plan
from loquent.bench.published import Figure
from loquent.bench.suite import Ordering, Suite
from loquent.bench.work import Outcome
from loquent.core.logged import value as measured
from loquent.errors import BadSetting, nearest
from loquent.report.runs import Group, Point, Seen
from loquent.statistics.intervals import Interval, difference, interval

ERRORS = 3.0  # standard errors of the episodes that decide between two runs of one seed
HOLDS, CONTRADICTED, UNDECIDED, MISSING = "holds", "contradicted", "undecided", "not measured"


@dataclass(frozen=True)
class Row:
    """A cell's results.

    `values` and their standard errors over episodes (`errors`): by column and seed; `paper`: the published
    figures.
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
        """The standard error over episodes of a number of one run.

        None of several, and where it is unknown.
        """
        known = list(self.errors.get(column, {}).values())
        return known[0] if len(known) == len(self.values.get(column, {})) == 1 else None


@dataclass(frozen=True)
class Step:
    """Two neighbours of an ordering: the interval of the difference, and what the paper has.

    `error`: of one seed, the standard error of the difference over the episodes; the interval is then three
        of them to each side.
    """

    low: str
    high: str
    difference: Interval | None
    verdict: str
    paper: tuple[str, str] | None = None
    error: float | None = None


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds here: every step of it must.

    `ends` compares the first cell with the last, where there are more than two.
    """

    ordering: Ordering
    steps: tuple[Step, ...]
    verdict: str
    ends: Step | None = None

    @property
    def shown(self) -> tuple[Step, ...]:
        """The steps, and the comparison of the ends behind them."""
        return (*self.steps, self.ends) if self.ends else self.steps


@dataclass(frozen=True)
class Results:
    """All of a suite under one profile."""

    suite: Suite
    profile: str
    seeds: int
    rows: Mapping[str, Row]
    verdicts: tuple[Verdict, ...]
    failures: Mapping[str, str]  # by the run's folder
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    machine: Mapping[str, Any] = field(default_factory=dict)
    curves: Mapping[str, Mapping[str, tuple[Point, ...]]] = field(
        default_factory=dict
    )  # by figure and cell; means over seeds
    sets: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict
    )  # figures of the recorded episodes, in the suite's order

    @property
    def comparisons(self) -> int:
        """How many differences over seeds the verdicts look at, the ends of longer orderings with them."""
        return sum(
            step.difference is not None and step.error is None
            for verdict in self.verdicts
            for step in verdict.shown
        )

    @property
    def single(self) -> int:
        """How many differences of one seed they look at, by the standard error of the episodes."""
        return sum(step.error is not None for verdict in self.verdicts for step in verdict.shown)

    @property
    def about(self) -> str:
        """What the profile says of itself."""
        return self.suite.profile(self.profile)[1].about


def collect(suite: Suite, profile: str, seeds: int, plan: Plan, outcomes: Mapping[str, Outcome]) -> Results:
    """Read the outcomes off into rows, verdicts and failures."""
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
    """Whether `high` is above `low`: decided by the interval of their difference over equal seeds, and open
    where it holds 0.

    Open too where there is no interval: of one seed, and of differences that are all equal, which say nothing
    about their spread.
    """
    found = difference(low, high)
    if found is None:
        return None, MISSING
    if found.low is None or found.high is None:
        return found, UNDECIDED
    return found, _decided(found.low, found.high)


def compare_episodes(difference: float, error: float) -> tuple[Interval, str]:
    """The same of one seed, by the standard error of the difference over the episodes: three of them to each
    side.
    """
    found = Interval(difference, difference - ERRORS * error, difference + ERRORS * error, None, 1)
    return found, _decided(difference - ERRORS * error, difference + ERRORS * error)


def _decided(low: float, high: float) -> str:
    return HOLDS if low > 0 else CONTRADICTED if high < 0 else UNDECIDED


def _row(
    suite: Suite,
    name: str,
    keys: Mapping[int, str],
    outcomes: Mapping[str, Outcome],
    folders: Mapping[str, str],
) -> Row:
    found = {seed: outcomes[key] for seed, key in keys.items() if key in outcomes}
    done = {seed: outcome.evaluation for seed, outcome in found.items() if outcome.evaluation is not None}
    values: dict[str, dict[int, float]] = {}
    for column, of in suite.columns.items():
        lines = {seed: found[seed].logged if of.logged else one["values"] for seed, one in done.items()}
        values[column] = {
            seed: float(value) for seed, line in lines.items() if _number(value := measured(line, of.metric))
        }
    entry = suite.cells[name]
    table, paper = published.load(suite.paper).row(entry.published) if entry.published else (None, {})
    return Row(
        name=name,
        label=entry.label or name,
        task=", ".join(sorted({str(one["task"]) for one in done.values()})),
        n=len(done),
        episodes=max((int(one["n"]) for one in done.values()), default=0),
        values=values,
        intervals={column: interval(list(by_seed.values())) for column, by_seed in values.items() if by_seed},
        paper={column: given for column, given in paper.items() if column in suite.columns},
        source=f"{table.title}; {table.place}; row {entry.published.partition('/')[2]}" if table else "",
        paper_seeds=table.seeds if table else 0,
        failures={seed: outcome.failure for seed, outcome in found.items() if outcome.failure},
        seconds=round(sum(outcome.seconds for outcome in found.values()), 1),
        folders=tuple(folders[key] for key in keys.values() if key in folders),
        paper_place=f"{table.title}; {table.place}" if table else "",
        paper_quote=table.quote if table else "",
        errors={
            column: {
                seed: float(error)
                for seed, one in done.items()
                if not of.logged and _number(error := one.get("errors", {}).get(of.metric))
            }
            for column, of in suite.columns.items()
        },
    )


def _curves(
    suite: Suite, plan: Plan, outcomes: Mapping[str, Outcome]
) -> dict[str, dict[str, tuple[Point, ...]]]:
    """For each figure the cells' curves over the runs that have come to their end.

    A cell that logged nothing has none.
    """
    trained = (job for job in plan.jobs if isinstance(job, Job) and not job.agent)
    folders = {job.key: job.folder for job in trained if job.key in outcomes and outcomes[job.key].evaluation}
    groups = {
        name: Group(
            suite.cells[name].label or name,
            tuple(Seen(folders[key]) for key in plan.cells[name].values() if key in folders),
        )
        for drawing in suite.figures
        for name in drawing.cells
    }
    found = {
        drawing.title: {name: tuple(groups[name].curve(drawing.key)) for name in drawing.cells}
        for drawing in suite.figures
    }
    return {
        title: {name: points for name, points in lines.items() if points} for title, lines in found.items()
    }


def _number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _verdict(ordering: Ordering, rows: Mapping[str, Row]) -> Verdict:
    names = ordering.rising
    steps = tuple(_step(ordering.column, rows[low], rows[high]) for low, high in pairwise(names))
    ends = _step(ordering.column, rows[names[0]], rows[names[-1]]) if len(names) > 2 else None
    return Verdict(ordering, steps, _whole([step.verdict for step in steps]), ends)


def _step(column: str, low: Row, high: Row) -> Step:
    found, verdict = compare(low.values[column], high.values[column])
    error = _error(low, high, column) if found is not None and found.n == 1 else None
    if found is not None and error is not None:
        found, verdict = compare_episodes(found.mean, error)
    printed = low.paper.get(column), high.paper.get(column)
    return Step(
        low.name,
        high.name,
        found,
        verdict,
        (printed[0].text, printed[1].text) if printed[0] and printed[1] else None,
        error,
    )


def _error(low: Row, high: Row, column: str) -> float | None:
    """The standard error of the difference of the one seed that both have.

    None where that of one is unknown, or both are 0.
    """
    (seed,) = low.values[column].keys() & high.values[column].keys()
    known = [row.errors.get(column, {}).get(seed) for row in (low, high)]
    return math.hypot(*(one for one in known if one is not None)) or None if None not in known else None


def _whole(verdicts: Sequence[str]) -> str:
    """One step against a claim is enough against it; all are needed for it."""
    for verdict in (CONTRADICTED, MISSING, UNDECIDED):
        if verdict in verdicts:
            return verdict
    return HOLDS


def _notes(suite: Suite, outcomes: Mapping[str, Outcome], planned: int) -> tuple[str, ...]:
    """Runs still to be made, runs that were not made alike, and columns that no run has measured."""
    done = [outcome for outcome in outcomes.values() if outcome.evaluation]
    notes = (
        [f"{len(outcomes)} of {planned} runs have come to their end so far"]
        if len(outcomes) < planned
        else []
    )
    for name, found in (
        ("Loquent", [one.version for one in done]),
        ("torch's threads", [str(one.threads) for one in done]),
    ):
        if len(set(found)) > 1:
            counted = (f"{value} ({found.count(value)} runs)" for value in sorted(set(found)))
            notes.append(f"runs made with different {name} stand side by side: {', '.join(counted)}")
    for column in suite.columns.values():
        lines = [one.logged if column.logged else one.evaluation["values"] for one in done if one.evaluation]
        if done and not any(
            column.metric in line or measured(line, column.metric) is not None for line in lines
        ):
            near = nearest(column.metric, {key for line in lines for key in line})
            notes.append(f"no run measured {column.metric!r}" + (f" (nearest: {near})" if near else ""))
    return tuple(notes)


def check(suite: Suite) -> None:
    """Every published row a suite names is there; BadSetting where one is not."""
    for name, entry in suite.cells.items():
        if entry.published:
            try:
                published.load(suite.paper).row(entry.published)
            except LookupError as error:
                raise BadSetting(f"suite {suite.name}, {name}: published: {error}") from error
