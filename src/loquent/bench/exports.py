"""A suite's results as CSV and JSON, with unrounded numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from loquent.bench.evidence.across import Across
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.tallies import OnTask
from loquent.bench.evidence.verdicts import Step, Verdict
from loquent.bench.notes import decoding_note, number_caution, start_note
from loquent.bench.pages import one_line, tables, visible_differences
from loquent.bench.results import Results
from loquent.bench.schema import suite_schema
from loquent.files.machine.version import __version__
from loquent.report.groups import bound_bands
from loquent.statistics.intervals import Interval
from loquent.statistics.tables import Table

CELL_COLUMNS = (
    *("table", "cell", "label", "task", "column", "metric", "better"),
    *("mean", "low", "high", "deviation", "n", "episodes", "rows", "low_seeds_rows", "high_seeds_rows"),
    *("paper", "paper_quote", "paper_value", "paper_deviation", "paper_n", "failures", "decoding"),
)
VERDICT_COLUMNS = (
    *("claim", "column", "verdict", "place", "quote", "part", "low_cell", "high_cell", "step_verdict"),
    *("difference", "low", "high", "n", "over"),
    *("low_episodes", "low_rows", "high_episodes", "high_rows", "paper_low", "paper_high"),
    *("table", "tests", "p", "p_corrected", "uncorrected", "on_these_rows", "claim_over"),
)
CURVE_COLUMNS = ("figure", "cell", "label", "key", "update", "mean", "low", "high", "n")


def as_csv(results: Results) -> str:
    """One line for each cell and column."""
    lines = []
    for table in tables(results):
        for row in (results.rows[name] for name in table.cells):
            failures = (f"seed {seed}: {one_line(failure)}" for seed, failure in row.failures.items())
            rest = ["; ".join(failures), row.decoding]
            for name, column in results.suite.columns.items():
                head = [table.title, row.name, row.label, row.task, name, column.metric, column.better]
                sizes = [row.episodes, row.rows or None]
                ends = _ends(row.both.get(name))
                lines.append([*head, *_numbers(row, name), *sizes, *ends, *_published(row, name), *rest])
    return Table(CELL_COLUMNS, lines).csv()


def _numbers(row: Row, column: str) -> list[Any]:
    found = row.intervals.get(column)
    return [found.mean, found.low, found.high, found.deviation, found.n] if found else [None] * 4 + [0]


def _published(row: Row, column: str) -> list[Any]:
    paper = row.paper.get(column)
    return (
        [row.source, row.paper_quote, paper.value, paper.deviation, row.paper_seeds] if paper else [None] * 5
    )


def verdicts_csv(results: Results) -> str:
    """One line for each comparison of each ordering.

    `part` is "step", or "ends" for the comparison of the first cell with the last, which does not affect the
    verdict. `step_verdict` is that of one comparison alone; `verdict`, `p` and `p_corrected` are the claim's.
    """
    lines = []
    for verdict in results.verdicts:
        ordering = verdict.ordering
        head = [ordering.claim, ordering.column, verdict.verdict, ordering.place, ordering.quote]
        for step in verdict.comparisons:
            found = step.difference
            numbers = [found.mean, found.low, found.high, found.n] if found else [None] * 3 + [0]
            lines.append(
                [
                    *(*head, "ends" if step is verdict.ends else "step", step.low, step.high, step.verdict),
                    *(*numbers, step.over),
                    *(step.episodes[0], step.rows[0] or None, step.episodes[1], step.rows[1] or None),
                    *(*(step.paper or (None, None)), *_decision(verdict).values()),
                ]
            )
    return Table(VERDICT_COLUMNS, lines).csv()


def _ends(interval: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if interval is None else (interval.low, interval.high)


def curves_csv(results: Results) -> str:
    """One line for each figure, cell and update.

    The numbers are the mean over seeds, the mean minus and plus one standard deviation, and n. What lies
    beyond the range of the value, such as a share above 1, is left out.
    """
    lines = [
        [drawing.title, name, results.rows[name].label, drawing.key, *point]
        for drawing in results.suite.figures
        for name, points in results.curves[drawing.title].items()
        for point in bound_bands(points, results.ends[drawing.title])
    ]
    return Table(CURVE_COLUMNS, lines).csv()


def as_json(results: Results) -> dict[str, Any]:
    """All results, as values that JSON can hold."""
    suite = results.suite
    return {
        **results.origin,
        **{"suite": suite.name, "version": suite.version, "title": suite.title, "profile": results.profile},
        **{
            "about": results.about,
            "loquent": __version__,
            "seeds": results.seeds,
            "update_share": results.share,
        },
        **{"machine": dict(results.machine), "seconds": results.seconds},
        "columns": {name: _picked(column, "metric", "better") for name, column in suite.columns.items()},
        "tables": [_table(results, table) for table in tables(results)],
        "across_tasks": _across(results.across),
        "data": {name: dict(figures) for name, figures in results.sets.items()},
        "cells": {name: _cell(row) for name, row in results.rows.items()},
        "verdicts": [verdict_as_json(verdict) for verdict in results.verdicts],
        "tallies": [
            {
                **_picked(found.tally, "claim", "column", "place", "quote"),
                "result": found.text,
                "tasks": [_on_task(task) for task in found.tasks],
            }
            for found in results.claim_tallies
        ],
        "curves": {
            title: {
                name: [point._asdict() for point in bound_bands(points, results.ends[title])]
                for name, points in lines.items()
            }
            for title, lines in results.curves.items()
        },
        "stopping": {folder: stopped.as_json() for folder, stopped in results.stopped.items()},
        "failures": dict(results.failures),
        "notes": list(results.notes),
        "cautions": [caution for caution in (start_note(results), number_caution(results)) if caution],
    }


def verdict_as_json(verdict: Verdict) -> dict[str, Any]:
    """A claim with its verdict, its comparisons and what the verdict rests on."""
    return {
        **_picked(verdict.ordering, "claim", "column", "place", "quote"),
        "verdict": verdict.verdict,
        "steps": [_step(step) for step in verdict.steps],
        "ends": _step(verdict.ends) if verdict.ends else None,
        **_decision(verdict),
    }


def _picked(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def _on_task(task: OnTask) -> dict[str, Any]:
    paper = {"paper": list(task.paper) if task.paper else None, "paper_rises": task.paper_rises}
    about = {"task": task.task, "outcome": task.outcome}
    return {**about, **_step(task.step), "p_corrected": task.corrected, **paper}


def _across(found: Across | None) -> dict[str, Any] | None:
    """The methods over the tasks of a suite."""
    if found is None:
        return None
    return {
        "columns": dict(found.columns),
        "interquartile_means": dict(found.means),
        "runs": dict(found.runs),
        "probabilities_of_improvement": [
            {"better": better, "other": other, "probability": value}
            for (better, other), value in found.improvements.items()
        ],
    }


def _table(results: Results, table: suite_schema.Table) -> dict[str, Any]:
    seen = visible_differences(results, table.title, [results.rows[name] for name in table.cells])
    return {
        "title": table.title,
        "cells": list(table.cells),
        "tests": results.family_sizes.get(table.title, 0),
        "decoding": decoding_note(results.rows[name] for name in table.cells),
        "smallest_difference": {name: asdict(item) for name, item in seen.items()},
    }


def _decision(verdict: Verdict) -> dict[str, Any]:
    """What a claim's verdict rests on."""
    return {
        "table": verdict.table,
        "tests": verdict.tests,
        "p": verdict.p,
        "p_corrected": verdict.corrected,
        "uncorrected": verdict.uncorrected,
        "on_these_rows": verdict.on_rows,
        "over": verdict.over,
    }


def _cell(row: Row) -> dict[str, Any]:
    published = {
        **{"where": row.source, "quote": row.paper_quote, "n": row.paper_seeds},
        "figures": {name: _picked(own, "text", "value", "deviation") for name, own in row.paper.items()},
    }
    return {
        **{**_picked(row, "label", "task", "n", "episodes"), "rows": row.rows or None},
        **{**_picked(row, "decoding", "seconds"), "runs": list(row.folders)},
        "values": _by_seed(row.values),
        "errors": _by_seed({column: own for column, own in row.errors.items() if own}),
        "intervals": _as_json(row.intervals),
        "intervals_over": "seeds",
        "over_seeds_and_rows": _as_json(row.both),
        "published": published if row.paper else None,
        "failures": {str(seed): failure for seed, failure in row.failures.items()},
        "tuning": row.tuning or None,
        "care": row.care.as_json(),
    }


def _by_seed(columns: Mapping[str, Mapping[int, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {str(seed): value for seed, value in own.items()} for name, own in columns.items()}


def _as_json(intervals: Mapping[str, Interval]) -> dict[str, Any]:
    return {name: found.as_json() for name, found in intervals.items()}


def _step(step: Step) -> dict[str, Any]:
    return {
        **_picked(step, "low", "high", "verdict", "over"),
        "difference": step.difference.as_json() if step.difference else None,
        "episodes": list(step.episodes),
        "rows": [rows or None for rows in step.rows],
        "rows_compared": step.compared or None,
        "paper": list(step.paper) if step.paper else None,
    }
