"""Methods over the tasks of a suite: interquartile means and probabilities of improvement.

The cells whose names are equal after the first hyphen (`tagging-ppo`, `labels-ppo`) are one method on the
tasks. A suite has several tasks if it has several tables, and the methods that all of them have play one task
in each table, a different one in every table. A task's score is its table's first column with a direction in
which all these cells have a value. Scores of columns in which less is better are turned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from loquent.bench.evidence.rows import Row
from loquent.bench.schema.suite_schema import Suite, Table
from loquent.statistics.across_tasks import interquartile_mean, probability_of_improvement


@dataclass(frozen=True)
class Across:
    """Scores over tasks.

    Attributes:
        columns: the column of each task, by the title of its table.
        means: the interquartile mean of each method, the best first; empty if a score lies outside [0, 1], as
            scores of different scales have no common mean, or if tasks have different numbers of runs, as
            one with more runs would count more.
        runs: the number of runs of each method, over all tasks.
        improvements: for two methods, the probability that a run of the first is better than one of the
            second; the method of the higher probability comes first.
    """

    columns: Mapping[str, str]
    means: Mapping[str, float]
    runs: Mapping[str, int]
    improvements: Mapping[tuple[str, str], float]


def across(suite: Suite, rows: Mapping[str, Row]) -> Across | None:
    """The scores over the tasks of a suite; None if it has one task, or fewer than two common methods."""
    tables = [table for table in suite.task_tables if any(rows[name].n for name in table.cells)]
    methods = _methods(tables, rows) if len(tables) > 1 else {}
    tasks = [{cells[i].task for cells in methods.values()} - {""} for i in range(len(tables))]
    if len(methods) < 2 or any(len(own) != 1 for own in tasks) or len(set.union(*tasks)) < len(tables):
        return None
    columns = {
        table.title: _column(suite, [methods[name][i] for name in methods]) for i, table in enumerate(tables)
    }
    named = {title: column for title, column in columns.items() if column}
    if len(named) < len(tables):
        return None
    scores = {name: _scores(suite, cells, list(named.values())) for name, cells in methods.items()}
    flat = {name: [value for task in own for value in task] for name, own in scores.items()}
    means = {name: interquartile_mean(own) for name, own in flat.items()}
    sizes = {len(task) for own in scores.values() for task in own}
    if len(sizes) > 1 or not all(0 <= value <= 1 for own in flat.values() for value in own):
        means = {}
    return Across(
        named,
        dict(sorted(means.items(), key=lambda item: -item[1])),
        {name: len(own) for name, own in flat.items()},
        dict(_improvement(scores, *pair) for pair in combinations(scores, 2)),
    )


def _methods(tables: Sequence[Table], rows: Mapping[str, Row]) -> dict[str, list[Row]]:
    """The methods with a run on every task: by name, their cells in the order of the tables."""
    named = [
        {name.partition("-")[2]: rows[name] for name in table.cells if "-" in name and rows[name].n}
        for table in tables
    ]
    return {
        name: [cells[name] for cells in named] for name in named[0] if all(name in cells for cells in named)
    }


def _column(suite: Suite, cells: Sequence[Row]) -> str | None:
    """The first column with a direction in which all these cells have a value."""
    columns = (name for name, column in suite.columns.items() if column.higher is not None)
    return next((name for name in columns if cells and all(cell.values.get(name) for cell in cells)), None)


def _scores(suite: Suite, cells: Sequence[Row], columns: Sequence[str]) -> list[list[float]]:
    """The scores of a method's runs, task by task; more is better."""
    signs = [1.0 if suite.columns[name].higher else -1.0 for name in columns]
    return [
        [sign * value for value in cell.values[name].values()]
        for cell, name, sign in zip(cells, columns, signs, strict=True)
    ]


def _improvement(
    scores: Mapping[str, list[list[float]]], first: str, second: str
) -> tuple[tuple[str, str], float]:
    chance = probability_of_improvement(scores[first], scores[second])
    return ((first, second), chance) if chance >= 0.5 else ((second, first), 1 - chance)
