"""Which row an environment plays next: drawn from the task's rows and those that were added, by weight or alike, or the one asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.data.pools import Pool, finite, shown
from loquent.errors import BadRow, BadSetting, UnknownName, kind_of
from loquent.seeding import Key, whole_number
from loquent.task import Row, Task

CHOICES = ("sample", "index", "id")
BLOCK = 256


class DrawnRows:
    """The rows of a task and what was added to them; `draw` depends on seed, split and number alone.

    Args:
        scale: a row is drawn with p_i = w_i^scale / sum_j w_j^scale; 0 draws all alike. A row's weight is its field `weight`, or 1.

    Raises:
        BadSetting: the scale is no finite number of at least 0.
    """

    def __init__(self, task: Task, scale: float) -> None:
        if not finite(scale):
            raise BadSetting(f"priority_scale = {shown(scale)}: a finite number of at least 0 is right")
        self.task, self.scale = task, float(scale)
        self.added: dict[str, list[tuple[Row, float]]] = {}
        self._pools: dict[str, Pool] = {}
        self._known: dict[str, set[str]] = {}
        self._block: tuple[tuple[int, str, int], list[float]] = ((-1, "", -1), [])

    def add(self, row: Row, weight: float | None, split: str) -> None:
        """Put a row behind those of a split; without a weight it has that of its field `weight`, or 1.

        Raises:
            BadSetting: the weight is no finite number of at least 0. BadRow: there is a row of that id.
        """
        weight = row.fields.get("weight", 1.0) if weight is None else weight
        if not finite(weight):
            raise BadSetting(f"weight = {shown(weight)}: a finite number of at least 0 is right")
        if row.id in self._ids(split):
            raise BadRow(f"a row with the id {row.id!r} is there already")
        self.added.setdefault(split, []).append((row, float(weight)))
        self._ids(split).add(row.id)
        self._pools.pop(split, None)

    def count(self, split: str) -> int:
        """How many rows a split has now."""
        return len(self._own(split)) + len(self.added.get(split, ()))

    def draw(self, split: str, number: int, seed: int) -> Row:
        """The row of game `number`.

        Raises:
            BadSetting: there is no row, or every one has probability 0.
        """
        own, added = self._own(split), self.added.get(split, ())
        count = len(own) + len(added)
        if not count:
            ways = "add_sample adds one, reset(options={'sample': ...}) plays one"
            raise BadSetting(f"{self.task.identity} has no row in {split} to draw from; {ways}")
        uniform = self._uniform(split, number, seed)
        if not self.scale:
            index = int(uniform * count)
            return own[index] if index < len(own) else added[index - len(own)][0]
        pool = self._pool(split)
        if not any(pool.weights):
            raise BadSetting(f"all {count} rows of {split} have the weight 0; with priority_scale = {self.scale:g} none can be drawn")
        return pool.draw(uniform, self.scale)

    def chosen(self, split: str, options: Mapping[str, Any]) -> Row | None:
        """The row that `sample`, `index` or `id` asks for; None where none of them is given.

        Raises:
            BadSetting: two of them are given, or the index is out of range. BadRow: the sample is no row of this task. UnknownName: no such id.
        """
        given = [name for name in CHOICES if options.get(name) is not None]
        if len(given) > 1:
            raise BadSetting(f"reset was given {' and '.join(given)}; one of {', '.join(CHOICES)} is right")
        if not given:
            return None
        value = options[given[0]]
        if given == ["sample"]:
            return sample(self.task, value)
        if given == ["id"]:
            return next((row for row, _ in self.added.get(split, ()) if row.id == value), None) or self._by_id(split, value)
        wrong = f"index = {value!r:.80} is not in 0..{self.count(split) - 1}, the rows of {split}"
        index = whole_number(value, wrong)
        if index >= self.count(split):
            raise BadSetting(wrong)
        return self.at(split, index)

    def at(self, split: str, index: int) -> Row:
        """The row at a place: the task's own first, then those added, in their order."""
        rows = self._own(split)
        return rows[index] if index < len(rows) else self.added[split][index - len(rows)][0]

    def _uniform(self, split: str, number: int, seed: int) -> float:
        """The draw of a game in [0, 1): one of a block, as to begin a stream takes longer than all else a reset does."""
        block, place = divmod(number, BLOCK)
        if self._block[0] != (seed, split, block):
            self._block = (seed, split, block), Key(seed, ("reset", split, block)).generator().random(BLOCK).tolist()
        return self._block[1][place]

    def _own(self, split: str) -> Any:
        if split not in self.task.spec.splits:
            raise UnknownName("split", split, self.task.spec.splits)
        return self.task.rows(split)

    def _by_id(self, split: str, id: Any) -> Row:
        if not isinstance(id, str):
            raise BadSetting(f"id = {id!r:.80} is {kind_of(id)}; a row's id is a text")
        self._own(split)
        return self.task.row(split, id)

    def _ids(self, split: str) -> set[str]:
        if split not in self._known:
            self._known[split] = {row.id for row in self._own(split)}
        return self._known[split]

    def _pool(self, split: str) -> Pool:
        if split not in self._pools:
            own, added = self._own(split), self.added.get(split, [])
            weights = [*(float(row.fields.get("weight", 1.0)) for row in own), *(weight for _, weight in added)]
            self._pools[split] = Pool((*own, *(row for row, _ in added)), tuple(weights))
        return self._pools[split]


def sample(task: Task, given: Any) -> Row:
    """A row from what a user gives: a row, under its own id, or a mapping with the fields of one; the fields as the task reads them.

    Raises:
        BadRow: it is none of this task.
    """
    if isinstance(given, Row):
        return Row(given.id, task.row_from(given.fields).fields)
    if not isinstance(given, Mapping):
        raise BadRow(f"a sample is a row, or a mapping with the fields of one, not {kind_of(given)}: {given!r:.80}")
    return task.row_from(given)
