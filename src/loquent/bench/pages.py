"""A suite's results as Markdown, CSV and JSON.

A number never travels without its interval, n, direction and task.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from loquent.bench.results import Results, Row, Step
from loquent.bench.suite import Table
from loquent.machine.version import __version__
from loquent.statistics.intervals import LEVEL, Interval
from loquent.statistics.tables import ARROWS, number, text_table


def tables(results: Results) -> tuple[Table, ...]:
    """The suite's tables; one with all cells where it names none."""
    return results.suite.tables or (Table(title=results.suite.title, cells=tuple(results.rows)),)


def columns(results: Results, rows: list[Row]) -> list[str]:
    """The columns of a table: those in which one of its rows has a number.

    All of them before there is any.
    """
    names = list(results.suite.columns)
    return [
        name for name in names if any(name in row.intervals or name in row.paper for row in rows)
    ] or names


def heads(results: Results, names: list[str]) -> list[str]:
    """The columns' names with their directions."""
    return [name.replace("_", " ") + ARROWS[results.suite.columns[name].higher] for name in names]


def shown(found: Interval | None) -> str:
    """A mean with its interval: "0.725 [0.701, 0.749]"; the mean alone of one run; a dash for none."""
    if found is None:
        return "–"
    if found.low is None or found.high is None:
        return number(found.mean)
    return f"{number(found.mean)} [{number(found.low)}, {number(found.high)}]"


def cell(row: Row, column: str) -> str:
    """A row's number in a column.

    With its own n where fewer of the row's runs have it, and of one run with its error over episodes.
    """
    found, error = row.intervals.get(column), row.error(column)
    if found is not None and error is not None:
        return f"{number(found.mean)} ± {number(error)}"
    return shown(found) + (f" (n = {found.n})" if found is not None and found.n != row.n else "")


def state(row: Row, seeds: int) -> str:
    """How many runs a row is a mean of, and that some failed."""
    return (
        f"{row.n}"
        if row.n == seeds and not row.failures
        else f"{row.n} of {seeds}" + (", failed" if row.failures else "")
    )


def step_text(step: Step) -> str:
    """One comparison in words: what was found, and what the paper has."""
    paper = f"; paper: {step.paper[0]} → {step.paper[1]}" if step.paper else ""
    n = f" (n = {step.difference.n})" if step.difference else ""
    if step.difference and step.error:
        n = f" ({step.difference.mean / step.error:.1f} standard errors of the episodes, one seed)"
    return f"{step.low} → {step.high}: {step.verdict}, difference {shown(step.difference)}{n}{paper}"


def start_caution(results: Results) -> str:
    """What the intervals leave out, where all seeds start from runs that are made once."""
    stages = " and one ".join(results.suite.stages)
    return (
        f"All seeds start from one {stages}: the intervals leave out what another start would change."
        if stages
        else ""
    )


def number_caution(results: Results) -> str:
    """How many comparisons the verdicts are made of, and how many of them chance alone would decide."""
    single = (
        f"{results.single} differences of one seed each are decided by three standard errors of the "
        "episodes, which leave out what training with another seed would change."
    )
    if not results.comparisons:
        return single if results.single else ""
    return (f"{single} " if results.single else "") + (
        f"{results.comparisons} differences are tested at {LEVEL:.0%} each, without a correction for "
        f"their number: were there none at all, about {results.comparisons * (1 - LEVEL):.1f} would "
        "still come out decided."
    )


def markdown(results: Results) -> str:
    """The tables, the paper's figures beside them, the verdicts and the failures."""
    parts = [f"# {results.suite.title}", "", *_preamble(results)]
    for table in tables(results):
        rows = [results.rows[name] for name in table.cells]
        parts += ["", f"## {table.title}", "", _ours(results, rows)]
        if any(row.paper for row in rows):
            parts += [
                "",
                f"Published ({results.suite.paper}; mean ± standard deviation):",
                "",
                _theirs(results, rows),
                "",
            ]
            parts += [f'{place}: "{quote}"' for place, quote in quotes(rows)]
    if results.sets:
        parts += [
            "",
            "## Recorded episodes",
            "",
            text_table([*set_heads(results)], [list(row) for row in set_rows(results)]),
        ]
    if results.verdicts:
        parts += ["", "## What holds here", "", number_caution(results), "", *_verdicts(results)]
    if results.failures:
        parts += [
            "",
            "## What failed",
            "",
            *(f"- `{folder}`: {_line(why)}" for folder, why in results.failures.items()),
        ]
    return "\n".join(parts) + "\n"


def one_run(results: Results) -> str:
    """What stands behind ±, where a number of one run has its error over the episodes."""
    has = any(
        row.error(column) is not None for row in results.rows.values() for column in results.suite.columns
    )
    return " Behind ± stands the standard error over the episodes of one run." if has else ""


def set_heads(results: Results) -> list[str]:
    """The columns of the table of recorded episodes."""
    optima = sorted({str(found["optimum_of"]) for found in results.sets.values() if found["optimum_of"]})
    return [
        "",
        "made by",
        "episodes",
        "return ↑",
        "best tenth",
        "exact value of its player",
        *(f"exact value of {name}" for name in optima),
    ]


def set_rows(results: Results) -> Iterator[list[str]]:
    """Of each set its episodes, mean return with standard error, the mean of the best tenth, and exact values
    where they are known.
    """
    for found in results.sets.values():
        mean = number(found["return"]) + (
            f" ± {number(found['error'])}" if found["error"] is not None else ""
        )
        exact = [
            number(value) if value is not None else "–"
            for value in (found["exact"], *([found["optimum"]] if found["optimum_of"] else []))
        ]
        yield [found["label"], found["made_by"], str(found["episodes"]), mean, number(found["best"]), *exact]


def _preamble(results: Results) -> list[str]:
    tasks = sorted({row.task for row in results.rows.values() if row.task})
    episodes = sorted({row.episodes for row in results.rows.values() if row.episodes})
    lines = [
        f"Suite `{results.suite.name}` version {results.suite.version}, profile `{results.profile}`, "
        f"{results.seeds} seeds; Loquent {__version__}.",
        f"Task: {'; '.join(tasks) or 'none'}; {' or '.join(map(str, episodes)) or 0} held-out "
        "episodes a run.",
        "Mean and 95 % interval over seeds (Student's t); of one number, or of equal ones, there is "
        f"none.{one_run(results)}",
    ]
    lines += filter(None, (start_caution(results), results.about))
    return [*lines, *(f"Note: {note}." for note in results.notes)]


def _ours(results: Results, rows: list[Row]) -> str:
    names = columns(results, rows)
    body = [[row.label, *(cell(row, name) for name in names), state(row, results.seeds)] for row in rows]
    return text_table(["", *heads(results, names), "n"], body)


def _theirs(results: Results, rows: list[Row]) -> str:
    names = [name for name in results.suite.columns if any(name in row.paper for row in rows)]
    body = [
        [
            row.label,
            *(row.paper[name].text if name in row.paper else "–" for name in names),
            str(row.paper_seeds),
            row.source.rpartition("; ")[2],
        ]
        for row in rows
        if row.paper
    ]
    return text_table(["", *(name.replace("_", " ") for name in names), "n", "where"], body)


def quotes(rows: list[Row]) -> list[tuple[str, str]]:
    """Where the published tables of some rows stand, and the sentence that says what their numbers are.

    Each once.
    """
    return list(dict.fromkeys((row.paper_place, row.paper_quote) for row in rows if row.paper))


def _verdicts(results: Results) -> Iterator[str]:
    for verdict in results.verdicts:
        ordering = verdict.ordering
        said = f' The paper: "{ordering.quote}" ({ordering.place}).' if ordering.quote else ""
        yield f"- **{verdict.verdict}**: {ordering.claim} (`{ordering.column}`).{said}"
        yield from (f"    - {step_text(step)}" for step in verdict.shown)


def as_csv(results: Results) -> str:
    """One line for each cell and column, numbers in full."""
    out = io.StringIO()
    names = [
        "table",
        "cell",
        "label",
        "task",
        "column",
        "metric",
        "better",
        "mean",
        "low",
        "high",
        "deviation",
        "n",
        "episodes",
    ]
    names += ["paper", "paper_quote", "paper_value", "paper_deviation", "paper_n", "failures"]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for table in tables(results):
        for row in (results.rows[name] for name in table.cells):
            for name, column in results.suite.columns.items():
                found, paper = row.intervals.get(name), row.paper.get(name)
                numbers = (
                    [found.mean, found.low, found.high, found.deviation, found.n]
                    if found
                    else [None] * 4 + [0]
                )
                theirs = (
                    [row.source, row.paper_quote, paper.value, paper.deviation, row.paper_seeds]
                    if paper
                    else [None] * 5
                )
                failed = "; ".join(f"seed {seed}: {_line(why)}" for seed, why in row.failures.items())
                writer.writerow(
                    [
                        table.title,
                        row.name,
                        row.label,
                        row.task,
                        name,
                        column.metric,
                        column.better,
                        *numbers,
                        row.episodes,
                        *theirs,
                        failed,
                    ]
                )
    return out.getvalue()


def verdicts_csv(results: Results) -> str:
    """One line for each comparison of each ordering, under the ordering's own verdict.

    `part` is "step", or "ends", which does not count.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [
        "claim",
        "column",
        "verdict",
        "place",
        "quote",
        "part",
        "low_cell",
        "high_cell",
        "step_verdict",
        "difference",
        "low",
        "high",
        "n",
    ]
    writer.writerow([*names, "paper_low", "paper_high"])
    for verdict in results.verdicts:
        of = verdict.ordering
        for step in verdict.shown:
            found = step.difference
            numbers = [found.mean, found.low, found.high, found.n] if found else [None] * 3 + [0]
            part = "ends" if step is verdict.ends else "step"
            head = [of.claim, of.column, verdict.verdict, of.place, of.quote, part]
            writer.writerow(
                [*head, step.low, step.high, step.verdict, *numbers, *(step.paper or (None, None))]
            )
    return out.getvalue()


def curves_csv(results: Results) -> str:
    """One line for each figure, cell and update: the mean over seeds, and a standard deviation below and
    above it.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["figure", "cell", "label", "key", "update", "mean", "low", "high", "n"])
    for drawing in results.suite.figures:
        for name, points in results.curves[drawing.title].items():
            writer.writerows(
                [drawing.title, name, results.rows[name].label, drawing.key, *point] for point in points
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
        "columns": {
            name: {"metric": column.metric, "better": column.better}
            for name, column in results.suite.columns.items()
        },
        "tables": [{"title": table.title, "cells": list(table.cells)} for table in tables(results)],
        "data": {name: dict(found) for name, found in results.sets.items()},
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
        "curves": {
            title: {name: [point._asdict() for point in points] for name, points in lines.items()}
            for title, lines in results.curves.items()
        },
        "failures": dict(results.failures),
        "notes": list(results.notes),
        "cautions": [caution for caution in (start_caution(results), number_caution(results)) if caution],
    }


def _cell(row: Row) -> dict[str, Any]:
    return {
        "label": row.label,
        "task": row.task,
        "n": row.n,
        "episodes": row.episodes,
        "seconds": row.seconds,
        "runs": list(row.folders),
        "values": {
            column: {str(seed): value for seed, value in by_seed.items()}
            for column, by_seed in row.values.items()
        },
        "errors": {
            column: {str(seed): error for seed, error in by_seed.items()}
            for column, by_seed in row.errors.items()
            if by_seed
        },
        "intervals": {column: found.as_json() for column, found in row.intervals.items()},
        "published": {
            "where": row.source,
            "quote": row.paper_quote,
            "n": row.paper_seeds,
            "figures": {
                column: {"text": f.text, "value": f.value, "deviation": f.deviation}
                for column, f in row.paper.items()
            },
        }
        if row.paper
        else None,
        "failures": {str(seed): why for seed, why in row.failures.items()},
    }


def _step(step: Step) -> dict[str, Any]:
    found = step.difference.as_json() if step.difference else None
    paper = list(step.paper) if step.paper else None
    return {
        "low": step.low,
        "high": step.high,
        "verdict": step.verdict,
        "difference": found,
        "error": step.error,
        "paper": paper,
    }


def _line(why: str) -> str:
    return " ".join(why.split())
