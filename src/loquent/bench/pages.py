"""A suite's results as Markdown, CSV and JSON; a number never travels without its interval, n, direction and task."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from loquent import __version__
from loquent.bench.results import Results, Row, Step
from loquent.bench.suite import Table
from loquent.intervals import Interval
from loquent.tables import ARROWS, number, text_table


def tables(results: Results) -> tuple[Table, ...]:
    """The suite's tables; one with all cells where it names none."""
    return results.suite.tables or (Table(title=results.suite.title, cells=tuple(results.rows)),)


def heads(results: Results) -> list[str]:
    """The columns' names with their directions."""
    return [name.replace("_", " ") + ARROWS[column.higher] for name, column in results.suite.columns.items()]


def shown(found: Interval | None) -> str:
    """A mean with its interval: "0.725 [0.701, 0.749]"; the mean alone of one run; a dash for none."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return number(found.mean)
    return f"{number(found.mean)} [{number(found.low)}, {number(found.high)}]"


def state(row: Row, seeds: int) -> str:
    """How many runs a row is a mean of, and that some failed."""
    return f"{row.n}" if row.n == seeds and not row.failures else f"{row.n} of {seeds}" + (", failed" if row.failures else "")


def step_text(step: Step) -> str:
    """One comparison in words: what was found, and what the paper has."""
    paper = f"; paper: {step.paper[0]} → {step.paper[1]}" if step.paper else ""
    return f"{step.low} → {step.high}: {step.verdict}, difference {shown(step.difference)}{paper}"


def markdown(results: Results) -> str:
    """The tables, the paper's figures beside them, the verdicts and the failures."""
    parts = [f"# {results.suite.title}", "", *_preamble(results)]
    for table in tables(results):
        rows = [results.rows[name] for name in table.cells]
        parts += ["", f"## {table.title}", "", _ours(results, rows)]
        if any(row.paper for row in rows):
            parts += ["", f"Published ({results.suite.paper}; mean ± standard deviation):", "", _theirs(results, rows)]
    if results.verdicts:
        parts += ["", "## What holds here", "", *_verdicts(results)]
    if results.failures:
        parts += ["", "## What failed", "", *(f"- `{folder}`: {_line(why)}" for folder, why in results.failures.items())]
    return "\n".join(parts) + "\n"


def _preamble(results: Results) -> list[str]:
    tasks = sorted({row.task for row in results.rows.values() if row.task})
    episodes = sorted({row.episodes for row in results.rows.values() if row.episodes})
    lines = [
        f"Suite `{results.suite.name}` version {results.suite.version}, profile `{results.profile}`, {results.seeds} seeds; Loquent {__version__}.",
        f"Task: {'; '.join(tasks) or 'none'}; {' or '.join(map(str, episodes)) or 0} held-out episodes a run.",
        "Mean and 95 % interval over seeds (Student's t).",
    ]
    lines += [results.about] if results.about else []
    return [*lines, *(f"Note: {note}." for note in results.notes)]


def _ours(results: Results, rows: list[Row]) -> str:
    body = [[row.label, *(shown(row.intervals.get(name)) for name in results.suite.columns), state(row, results.seeds)] for row in rows]
    return text_table(["", *heads(results), "n"], body)


def _theirs(results: Results, rows: list[Row]) -> str:
    names = [name for name in results.suite.columns if any(name in row.paper for row in rows)]
    body = [
        [row.label, *(row.paper[name].text if name in row.paper else "–" for name in names), str(row.paper_seeds), row.source]
        for row in rows
        if row.paper
    ]
    return text_table(["", *(name.replace("_", " ") for name in names), "n", "where"], body)


def _verdicts(results: Results) -> Iterator[str]:
    for verdict in results.verdicts:
        ordering = verdict.ordering
        said = f' The paper: "{ordering.quote}" ({ordering.place}).' if ordering.quote else ""
        yield f"- **{verdict.verdict}**: {ordering.claim} (`{ordering.column}`).{said}"
        yield from (f"    - {step_text(step)}" for step in verdict.shown)


def as_csv(results: Results) -> str:
    """One line for each cell and column, numbers in full."""
    out = io.StringIO()
    names = ["table", "cell", "label", "task", "column", "metric", "better", "mean", "low", "high", "deviation", "n", "episodes"]
    names += ["paper", "paper_value", "paper_deviation", "paper_n", "failures"]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for table in tables(results):
        for row in (results.rows[name] for name in table.cells):
            for name, column in results.suite.columns.items():
                found, paper = row.intervals.get(name), row.paper.get(name)
                numbers = [found.mean, found.low, found.high, found.deviation, found.n] if found else [None] * 4 + [0]
                theirs = [row.source, paper.value, paper.deviation, row.paper_seeds] if paper else [None] * 4
                failed = "; ".join(f"seed {seed}: {_line(why)}" for seed, why in row.failures.items())
                writer.writerow(
                    [table.title, row.name, row.label, row.task, name, column.metric, column.better, *numbers, row.episodes, *theirs, failed]
                )
    return out.getvalue()


def as_json(results: Results) -> dict[str, Any]:
    """Everything, as JSON can hold it."""
    return {
        "suite": results.suite.name,
        "version": results.suite.version,
        "title": results.suite.title,
        "profile": results.profile,
        "about": results.about,
        "loquent": __version__,
        "seeds": results.seeds,
        "machine": dict(results.machine),
        "seconds": results.seconds,
        "columns": {name: {"metric": column.metric, "better": column.better} for name, column in results.suite.columns.items()},
        "tables": [{"title": table.title, "cells": list(table.cells)} for table in tables(results)],
        "cells": {name: _cell(row) for name, row in results.rows.items()},
        "verdicts": [
            {
                "claim": verdict.ordering.claim,
                "column": verdict.ordering.column,
                "place": verdict.ordering.place,
                "quote": verdict.ordering.quote,
                "verdict": verdict.verdict,
                "steps": [_step(step) for step in verdict.steps],
                "ends": _step(verdict.ends) if verdict.ends else None,
            }
            for verdict in results.verdicts
        ],
        "failures": dict(results.failures),
        "notes": list(results.notes),
    }


def _cell(row: Row) -> dict[str, Any]:
    return {
        "label": row.label,
        "task": row.task,
        "n": row.n,
        "episodes": row.episodes,
        "seconds": row.seconds,
        "runs": list(row.folders),
        "values": {column: {str(seed): value for seed, value in by_seed.items()} for column, by_seed in row.values.items()},
        "intervals": {column: found.as_json() for column, found in row.intervals.items()},
        "published": {
            "where": row.source,
            "n": row.paper_seeds,
            "figures": {column: {"text": f.text, "value": f.value, "deviation": f.deviation} for column, f in row.paper.items()},
        }
        if row.paper
        else None,
        "failures": {str(seed): why for seed, why in row.failures.items()},
    }


def _step(step: Step) -> dict[str, Any]:
    found = step.difference.as_json() if step.difference else None
    return {"low": step.low, "high": step.high, "verdict": step.verdict, "difference": found, "paper": list(step.paper) if step.paper else None}


def _line(why: str) -> str:
    return " ".join(why.split())
