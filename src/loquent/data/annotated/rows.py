"""The rows of a task with annotations: the rows of its source by split, and added rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from loquent.core import registry
from loquent.core.task import Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.data import sources
from loquent.data.annotated import checks
from loquent.data.annotated.checks import Check
from loquent.data.annotated.options import Labelled
from loquent.data.sources import Splits
from loquent.data.tables.splits import SPLITS
from loquent.errors import BadRow, BadSetting, UnknownName

CUSTOM = "custom"  # the name of a reward by the user's function
L = TypeVar("L", bound=Labelled)


class Rows:
    """The rows of an annotated task.

    Args:
        task: the task's name, for errors.
        load: returns the rows of the source by split; called at the first use of a split.
        check: makes the fields of a row from a mapping, or raises ValueError.
        labels: the allowed labels; None if rows have no labels.
    """

    def __init__(
        self, task: str, load: Callable[[], Splits], check: Check, labels: tuple[str, ...] | None = None
    ) -> None:
        self._task, self._load, self._labels = task, load, labels
        self._check = check if labels is None else checks.restricted_to(check, labels)
        self._splits: dict[str, tuple[Row, ...]] = {}

    def of(self, split: str) -> tuple[Row, ...]:
        """The rows of a split; empty for a source without rows, whose rows are added later.

        Raises:
            UnknownName: the source has no such split. BadRow: a row has an unknown label. Others as
                `placed.load`.
        """
        if split not in self._splits:
            splits = self._load()
            if split not in SPLITS or (splits and split not in splits):
                raise UnknownName(f"split of {self._task}", split, splits or SPLITS)
            self._splits[split] = self._check_labels(splits.get(split, ()))
        return self._splits[split]

    def make_added_row(self, fields: Mapping[str, Any]) -> Row:
        """A row made from fields outside the source; BadRow if the fields do not fit the task."""
        return checks.make_added_row(fields, self._check)

    def _check_labels(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        allowed = frozenset(self._labels or ())
        for row in rows if self._labels is not None else ():
            try:
                checks.check_labels(row.fields, allowed)
            except ValueError as error:
                raise BadRow(f"row {row.id}: {error}") from error
        return rows


class RowsTask(Task):
    """A task on annotated rows."""

    _rows: Rows

    def rows(self, split: str) -> tuple[Row, ...]:
        """The rows of a split; errors as in `Rows.of`."""
        return self._rows.of(split)

    def row_from(self, fields: Mapping[str, Any]) -> Row:
        """A row from its fields, or from those of another row; BadRow if they do not fit the task."""
        return self._rows.make_added_row(fields)


class GameTask(RowsTask):
    """A game of arXiv:2011.08272, whose reward is one of its scores, or the user's function `module:name`."""

    reward: Callable[..., float] | None

    def game_spec(self, *scores: str, low: float = 0.0, **own: Any) -> TaskSpec:
        """The specification with these scores as rewards; also sets `reward`, None for one of the scores."""
        options: Any = self.options
        custom = [] if options.reward in scores else [CUSTOM]
        self.reward = registry.function(options.reward, f"{own['id']}.reward") if custom else None
        chosen = CUSTOM if custom else options.reward
        return TaskSpec(
            rewards=Record({name: float(name == chosen) for name in (*scores, *custom)}),
            return_range=None if custom else (low, 1.0),
            ranges=Record(score=(0.0, 1.0)),
            paper="arXiv:2011.08272",
            licences=("Apache-2.0",) if options.source == "builtin" else (),
            **own,
        )


def training_rows(task: Task, agent: str) -> tuple[Row, ...]:
    """The training rows from which `agent`, whose name begins with the task's, is made.

    Raises:
        BadSetting: the agent is of another task, or there are no training rows.
    """
    name = agent.partition("/")[0]
    if task.spec.id != name:
        raise BadSetting(f"{agent} plays {name}, but the task is {task.identity}; choose another agent")
    rows = task.rows("train")
    if not rows:
        raise BadSetting(
            f"{task.identity} has no training rows, from which {agent} is made; choose another agent"
        )
    return tuple(rows)


def labels(options: L, builtin: tuple[str, ...], unlimited: Callable[[L], Splits]) -> tuple[str, ...]:
    """All labels in the order of their actions: those of the options, of the built-in rows, or of all rows.

    Args:
        unlimited: returns the rows before any limit.

    Raises:
        BadSetting: the options have no labels, and no row has a label.
    """
    if options.labels:
        return options.labels
    return builtin if options.source == "builtin" else checks.labels_of(unlimited(options))


def limit_splits(splits: Splits, limit: int) -> Splits:
    """The splits with at most `limit` rows each; 0: all."""
    return {split: sources.limit_rows(rows, limit) for split, rows in splits.items()}
