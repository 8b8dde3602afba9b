"""The numbers of a run's episodes, row by row, from the files that the run keeps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

from loquent.core import episode, registry
from loquent.core.metric import Scores
from loquent.core.task import TaskSpec
from loquent.data import content, outcomes
from loquent.errors import LoquentError
from loquent.files.run_folder import RunFolder
from loquent.rewards import compose
from loquent.training.recipes import Recipe

UNEQUAL = 0.1  # 1,000 episodes on 30 rows play a row 33 or 34 times


@dataclass(frozen=True)
class Played:
    """The episodes of an evaluation: the row of each, and by key one number of each (None: it has none)."""

    rows: tuple[str, ...]
    columns: Mapping[str, tuple[float | None, ...]]

    @property
    def count(self) -> int:
        """The number of different rows."""
        return len(set(self.rows))

    def by_row(self, key: str) -> dict[str, float] | None:
        """The mean of the numbers on each row, without the rows that have an episode without a number.

        Rows are left out that were played more often or more seldom than is usual, by more than `UNEQUAL`.
        None if these are half of the rows or more, or if no row is left.
        """
        present, rows = self._numbers(key)
        whole = Counter(self.rows)
        sums: dict[str, list[float]] = {}
        for number, row in zip(present, rows, strict=True):
            sums.setdefault(row, []).append(number)
        sums = {row: own for row, own in sums.items() if len(own) == whole[row]}
        if not sums:
            return None
        usual = median_low(len(own) for own in sums.values())
        found = {
            row: math.fsum(own) / len(own)
            for row, own in sums.items()
            if max(usual, len(own)) <= (1 + UNEQUAL) * min(usual, len(own))
        }
        return found if len(found) > len(sums) / 2 else None

    def error(self, key: str) -> float | None:
        """The standard error of the mean, clustered by row; None if it is unknown."""
        present, rows = self._numbers(key)
        if not present:
            return None
        error = outcomes.mean_and_error(present, rows)[1]
        return None if math.isnan(error) else error

    def _numbers(self, key: str) -> tuple[list[float], list[str]]:
        pairs = zip(self.columns.get(key, ()), self.rows, strict=False)
        present = [(number, row) for number, row in pairs if number is not None]
        return [number for number, _ in present], [row for _, row in present]


def read(folder: RunFolder, recipe: Recipe, evaluation: Mapping[str, Any]) -> Played | None:
    """The numbers of the episodes behind an evaluation.

    A key is left out if its numbers do not have the mean that the evaluation gives. None if the episodes
    cannot be read.
    """
    try:
        folder.check_evaluation_episodes()
        episodes = list(episode.read(folder.episodes))
        spec, samples = _spec(recipe.options, recipe.task), folder.evaluation_samples()
        weights = compose.weights(recipe.rewards, spec.rewards)
    except (LoquentError, OSError, ValueError):
        return None
    own = {
        key: list[float | None](column) for key, column in outcomes.columns(episodes, spec, weights).items()
    }
    columns: Scores = {**own, **samples}
    values = evaluation["values"]
    fitting = {key: tuple(column) for key, column in columns.items() if _fits(column, values.get(key))}
    whole = {key: column for key, column in fitting.items() if len(column) == len(episodes)}
    return Played(tuple(played.row for played in episodes), whole)


@content.cache_reads(64)
def _spec(options: Any, task: str) -> TaskSpec:
    """The specification of a task; runs of a suite share few tasks, and some read large files."""
    spec: TaskSpec = registry.resolve("task", task)(options).spec
    return spec


def _fits(column: Sequence[float | None], value: Any) -> bool:
    present = [number for number in column if number is not None]
    if not present or not isinstance(value, int | float):
        return False
    return math.isclose(math.fsum(present) / len(present), value, rel_tol=1e-9, abs_tol=1e-9)
