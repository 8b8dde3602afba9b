"""The results of a suite: the numbers of every cell, published figures, verdicts and failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from loquent.bench.evidence import tallies, verdicts
from loquent.bench.evidence.across import Across, across
from loquent.bench.evidence.care import Care, care
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.evidence.rows import Row, row
from loquent.bench.evidence.stopping import Stopped
from loquent.bench.evidence.verdicts import Verdict
from loquent.bench.jobs import Job, Plan, Starts
from loquent.bench.schema import paper_tables
from loquent.bench.schema.suite_schema import Drawing, Suite
from loquent.core.log_keys import value as measured
from loquent.core.metric import Range
from loquent.core.values import EMPTY
from loquent.errors import BadSetting, nearest
from loquent.report.groups import Group, Point
from loquent.report.ranges import limits
from loquent.report.runs import ReportedRun


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
    origin: Mapping[str, str] = field(default_factory=dict)
    """The command, its commit and its date, as records of results have them."""

    curves: Mapping[str, Mapping[str, tuple[Point, ...]]] = field(default_factory=dict)
    """Means over seeds, by figure and cell."""
    ends: Mapping[str, Range] = field(default_factory=dict)
    """The least and the greatest possible mean of the curves, by figure."""

    sets: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Figures of the sets of recorded episodes, in the suite's order."""

    stopped: Mapping[str, Stopped] = field(default_factory=dict)
    """Where early stopping ended runs, by the run's folder."""

    starts: Starts = Starts()
    share: float = 1.0
    """The least share of their updates that runs made; below 1, the numbers are no results."""

    @property
    def across(self) -> Across | None:
        """The methods over the suite's tasks; None if it has one task."""
        return across(self.suite, self.rows) if self.share == 1 else None

    @property
    def claim_tallies(self) -> tuple[tallies.Tallied, ...]:
        """The claims over tasks with their counts."""
        return tallies.tally(self.suite, self.rows) if self.share == 1 else ()

    @property
    def family_sizes(self) -> dict[str, int]:
        """The number of claims that are tested together, by table."""
        return {verdict.table: verdict.tests for verdict in self.verdicts}

    @property
    def single(self) -> int:
        """The number of claims with one seed, which are tested over the rows that were played."""
        return sum(verdict.single for verdict in self.verdicts)

    @property
    def about(self) -> str:
        """The description of the profile."""
        return self.suite.profile(self.profile)[1].about


def collect(suite: Suite, profile: str, seeds: int, plan: Plan, outcomes: Mapping[str, Outcome]) -> Results:
    """Collect the outcomes into rows, verdicts and failures."""
    suite = suite.repeating(profile)
    folders = {job.key: job.folder.name for job in plan.jobs}
    drawn = _curves(suite, plan, outcomes)
    rows = {
        name: replace(row(suite, name, keys, outcomes, folders), care=_care(suite, profile, plan, name, keys))
        for name, keys in plan.cells.items()
    }
    trained = [job for job in plan.jobs if isinstance(job, Job) and not job.agent]
    share = min((job.recipe.training.update_share for job in trained), default=1.0)
    failures = {folders[key]: outcome.failure for key, outcome in outcomes.items() if outcome.failure}
    return Results(
        suite,
        profile,
        seeds,
        rows,
        verdicts.judge(suite, rows) if share == 1 else (),
        failures,
        (*_of_share(share), *_notes(suite, outcomes, len(plan.jobs))),
        round(sum(outcome.seconds for outcome in outcomes.values()), 1),
        curves=drawn,
        starts=plan.starts,
        share=share,
        ends={
            drawing.title: _ends(drawing, drawn[drawing.title], plan, outcomes) for drawing in suite.figures
        },
        stopped={folders[key]: one.stopped for key, one in outcomes.items() if one.stopped is not None},
        sets={
            name: figures for name in suite.data if (figures := _figures(plan, outcomes, name)) is not None
        },
    )


def _of_share(share: float) -> tuple[str, ...]:
    if share == 1:
        return ()
    part = f"{100 * share:.3g} %"
    return (
        f"these numbers are no results: runs made the first {part} of their updates alone "
        f"(training.update_share = {share:g}), so no claim is judged",
    )


def _care(suite: Suite, profile: str, plan: Plan, name: str, keys: Mapping[int, str]) -> Care:
    """How the settings of a cell were found."""
    record = suite.search(profile, name)
    own = (job for job in plan.jobs if isinstance(job, Job) and job.key in keys.values())
    best = record.set if record else EMPTY
    return next((care(job.recipe, bool(job.agent), best) for job in own), Care())


def _figures(plan: Plan, outcomes: Mapping[str, Outcome], name: str) -> Mapping[str, Any] | None:
    key = plan.sets.get(name, "")
    return outcomes[key].figures if key in outcomes else None


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


def _ends(
    drawing: Drawing,
    lines: Mapping[str, Sequence[Point]],
    plan: Plan,
    outcomes: Mapping[str, Outcome],
) -> Range:
    """The least and the greatest possible mean of a figure's value."""
    means = [point.mean for points in lines.values() for point in points]
    runs = [outcomes[key] for name in lines for key in plan.cells[name].values() if key in outcomes]
    return limits(drawing.key, means, [run.evaluation for run in runs if run.evaluation])


def _notes(suite: Suite, outcomes: Mapping[str, Outcome], planned: int) -> tuple[str, ...]:
    """Notes on missing runs, on different versions or threads, and on columns that no run measured."""
    evaluated = [outcome for outcome in outcomes.values() if outcome.evaluation]
    notes = []
    if len(outcomes) < planned:
        notes.append(f"{len(outcomes)} of {planned} runs have ended so far")
    notes += _without_rows(evaluated)
    for name, settings in (
        ("versions of Loquent", [outcome.version for outcome in evaluated]),
        ("numbers of torch's threads", [str(outcome.threads) for outcome in evaluated]),
    ):
        if len(set(settings)) > 1:
            counts = (f"{value} ({settings.count(value)} runs)" for value in sorted(set(settings)))
            notes.append(f"the tables compare runs made with different {name}: {', '.join(counts)}")
    # tasks that --only leaves out may measure the other columns
    for column in suite.columns.values() if suite.whole is None else ():
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


def _without_rows(evaluated: Sequence[Outcome]) -> list[str]:
    """Notes on evaluations of earlier versions, which do not count rows."""
    older = [outcome for outcome in evaluated if outcome.evaluation and "rows" not in outcome.evaluation]
    lost = [outcome for outcome in older if outcome.played is None]
    notes = []
    if len(older) > len(lost):
        notes.append(
            f"an earlier version wrote {len(older) - len(lost)} evaluations without the number of rows; rows "
            "and standard errors are computed from their episodes"
        )
    if lost:
        notes.append(
            f"an earlier version wrote {len(lost)} evaluations without the number of rows, and their "
            "episodes cannot be read; their standard errors count episodes on one row as independent, so "
            "they are left out; evaluate these runs again"
        )
    return notes


def check(suite: Suite) -> None:
    """Check that every published row that a suite names exists.

    Raises:
        BadSetting: a row does not exist.
    """
    named = [(name, entry.published) for name, entry in suite.cells.items()]
    for profile in suite.profiles.values():
        named += profile.published.items()
    for name, published in named:
        if published:
            try:
                paper_tables.row(suite.paper, published)
            except LookupError as error:
                raise BadSetting(f"suite {suite.name}, {name}: published: {error}") from error
