"""The rows of a task with annotations: those of its source, by split, and those that come from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from loquent.data import sources
from loquent.data.annotated import placed
from loquent.data.annotated.options import Labelled
from loquent.data.annotated.placed import Check
from loquent.data.sources import SPLITS, Splits
from loquent.errors import BadRow, UnknownName
from loquent.task import Row

L = TypeVar("L", bound=Labelled)


class Rows:
    """What a task plays.

    Args:
        task: its name, for errors.
        load: the rows of its source by split; asked for when the first split is.
        check: the fields of a row from those of a mapping, or ValueError.
        labels: those that rows may have; None where rows have no labels.
    """

    def __init__(self, task: str, load: Callable[[], Splits], check: Check, labels: tuple[str, ...] | None = None) -> None:
        self._task, self._load, self._labels = task, load, labels
        self._check = check if labels is None else placed.knowing(check, labels)
        self._found: dict[str, tuple[Row, ...]] = {}

    def of(self, split: str) -> tuple[Row, ...]:
        """The rows of a split, none where rows are still to be added.

        Raises:
            UnknownName: the source has no such split. BadRow: a row has an unknown label. Others as `placed.load`.
        """
        if split not in self._found:
            splits = self._load()
            if split not in SPLITS or (splits and split not in splits):
                raise UnknownName(f"split of {self._task}", split, splits or SPLITS)
            self._found[split] = self._known(splits.get(split, ()))
        return self._found[split]

    def added(self, fields: Mapping[str, Any]) -> Row:
        """A row from outside the source; BadRow where it is none of this task."""
        return placed.added(fields, self._check)

    def _known(self, rows: tuple[Row, ...]) -> tuple[Row, ...]:
        known = frozenset(self._labels or ())
        for row in rows if self._labels is not None else ():
            try:
                placed.known_labels(row.fields, known)
            except ValueError as error:
                raise BadRow(f"row {row.id}: {error}") from error
        return rows


def labels(options: L, builtin: tuple[str, ...], whole: Callable[[L], Splits]) -> tuple[str, ...]:
    """All labels in the order of their actions: those given, those of the built-in rows, or those of `whole`, the rows before any limit.

    Raises:
        BadSetting: none are given and no row has any.
    """
    if options.labels:
        return options.labels
    return builtin if options.source == "builtin" else placed.labels_of(whole(options))


def limited(splits: Splits, limit: int) -> Splits:
    """At most so many rows of each split."""
    return {split: sources.limited(found, limit) for split, found in splits.items()}
