"""Claims over the tasks of a suite: on how many tasks one method beats another, and means over the tasks.

A method beats another on a task if the test of `verdicts` decides so for their cells at 5%, alone. Chance
makes some of these wins. Beside them stands how many hold after Holm's correction for the comparisons of the
claim: of methods that are equal on all tasks, at most 5% of the claims have one. With one seed both are about
the rows alone, and so they are where a task has no values by row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from loquent.bench.evidence import verdicts
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.verdicts import Step
from loquent.bench.schema.suite_schema import Suite, Summary, Table, Tally
from loquent.statistics import comparing

WIN, LOSS, NEITHER, MISSING = "win", "loss", "neither", verdicts.MISSING


@dataclass(frozen=True)
class OnTask:
    """The comparison of two methods on one task.

    `paper` has the published figures of both in the table's `score`, and `paper_rises` says whether the
    second is better there; None if a figure is missing or both are equal. `corrected` is the p-value of the
    comparison after Holm's correction for all comparisons of the claim; one without a test counts as p = 1.
    """

    task: str
    step: Step
    outcome: str
    corrected: float | None = None
    paper: tuple[str, str] | None = None
    paper_rises: bool | None = None


@dataclass(frozen=True)
class Tallied:
    """A claim with its comparison on each task."""

    tally: Tally
    tasks: tuple[OnTask, ...]

    def tasks_with(self, outcome: str) -> list[str]:
        """The tasks with this outcome."""
        return [task.task for task in self.tasks if task.outcome == outcome]

    @property
    def single(self) -> bool:
        """Whether a comparison is over the rows of one seed."""
        return any(task.step.over == verdicts.ROWS for task in self.tasks)

    @property
    def on_rows(self) -> bool:
        """Whether a comparison is about the rows that were played alone."""
        return any(task.step.over != verdicts.BOTH for task in self.tasks if task.step.difference)

    def count_holding(self, outcome: str) -> int:
        """The number of tasks on which this outcome holds after Holm's correction."""
        own = [task.corrected for task in self.tasks if task.outcome == outcome]
        return sum(verdicts.decide(p, True) == verdicts.HOLDS for p in own)

    @property
    def text(self) -> str:
        """The counts in a sentence, with the names of the tasks without a win."""
        wins, total = len(self.tasks_with(WIN)), len(self.tasks)
        counts = {
            outcome: f" ({self.count_holding(outcome)} after Holm's correction)" for outcome in (WIN, LOSS)
        }
        rest = "; ".join(
            f"{name} on {', '.join(found)}{counts.get(outcome, '')}"
            for name, outcome in (("loses", LOSS), ("no visible difference", NEITHER), (MISSING, MISSING))
            if (found := self.tasks_with(outcome))
        )
        printed = [task.paper_rises for task in self.tasks if task.paper is not None]
        theirs = f"; in the paper's figures it is better on {printed.count(True)} of {len(printed)}"
        about = "on these rows " if self.on_rows else ""
        wins_text = f"{about}wins on {wins} of {total} tasks" + counts[WIN] * bool(wins)
        return wins_text + (f"; {rest}" if rest else "") + theirs * bool(printed)


@dataclass(frozen=True)
class Mean:
    """The mean of a method's cells over the tasks; `error` is the standard error over test rows."""

    method: str
    value: float
    error: float | None
    n: int  # the number of runs of a cell


def tally(suite: Suite, rows: Mapping[str, Row]) -> tuple[Tallied, ...]:
    """All tallies of a suite, in its order."""
    whole = suite.whole or suite
    return tuple(
        Tallied(
            item,
            _corrected(
                [_on_task(suite, item, table, rows) for table in _tables(suite, item)],
                len(_tables(whole, item)),
            ),
        )
        for item in suite.tallies
    )


def _corrected(tasks: Sequence[OnTask], count: int = 0) -> tuple[OnTask, ...]:
    """The comparisons of a claim with their p-values, corrected for at least `count` comparisons.

    Tasks that `--only` leaves out count as p = 1.
    """
    own = [None if task.step.difference is None else task.step.difference.p for task in tasks]
    known = [1.0 if p is None else p for p in own]
    corrected = comparing.holm(known + [1.0] * (count - len(tasks)))
    return tuple(
        task if alone is None else replace(task, corrected=p)
        for task, alone, p in zip(tasks, own, corrected, strict=False)
    )


def means(suite: Suite, summary: Summary, rows: Mapping[str, Row]) -> list[Mean]:
    """The mean over the tasks of each method that has a number on all of them."""
    tables = [table for table in suite.task_tables if any(rows[name].n for name in table.cells)]
    by_method: dict[str, list[Row]] = {}
    for table in tables:
        for name in table.cells:
            by_method.setdefault(name.partition("-")[2], []).append(rows[name])
    found = []
    for method, cells in by_method.items():
        intervals = [cell.intervals.get(summary.column) for cell in cells]
        known = [interval for interval in intervals if interval is not None]
        if len(known) < len(tables) or not tables:
            continue
        errors = [error for cell in cells if (error := cell.error(summary.column)) is not None]
        spread = math.hypot(*errors) / len(cells) if len(errors) == len(cells) else None
        value = sum(interval.mean for interval in known) / len(known)
        found.append(Mean(cells[0].label or method, value, spread, min(cell.n for cell in cells)))
    return found


def _tables(suite: Suite, item: Tally) -> list[Table]:
    """The tables with a cell of both methods."""
    return [table for table in suite.task_tables if item.is_of(table)]


def _cell(table: Table, method: str) -> str:
    return next((name for name in table.cells if name.partition("-")[2] == method), "")


def _on_task(suite: Suite, item: Tally, table: Table, rows: Mapping[str, Row]) -> OnTask:
    low, high = (rows[_cell(table, end)] for end in (item.low, item.high))
    step = verdicts.step(item.column, low, high)
    figures = [row.paper.get(table.score) for row in (low, high)]
    paper, rises = None, None
    if figures[0] is not None and figures[1] is not None:
        paper = figures[0].text, figures[1].text
        better = (figures[1].value - figures[0].value) * _sign(suite, table.score)
        rises = None if better == 0 else better > 0
    outcome = _outcome(step, _sign(suite, item.column))
    return OnTask(table.title, step, outcome, paper=paper, paper_rises=rises)


def _sign(suite: Suite, column: str) -> float:
    return -1.0 if suite.columns[column].higher is False else 1.0


def _outcome(step: Step, sign: float) -> str:
    if step.difference is None:
        return MISSING
    if step.verdict == verdicts.UNDECIDED:
        return NEITHER
    return WIN if sign * step.difference.mean > 0 else LOSS
