"""The row of an environment's next episode: drawn at random, or chosen by the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core.seeding import Key, as_integer
from loquent.core.task import Row, Task
from loquent.data.pools import Pool, finite, show
from loquent.data.tables.rows import by_id
from loquent.errors import BadRow, BadSetting, UnknownName, kind_of, naming

CHOICES = ("sample", "index", "id")
BLOCK = 256


class DrawnRows:
    """The rows of a task and the added rows; `draw` depends only on these and on seed, split and number.

    Args:
        scale: the probability of row i is p_i = w_i^scale / sum_j w_j^scale; with 0 all rows are equally
            likely. The weight w_i of a row is its field `weight`, or 1.

    Raises:
        BadSetting: the scale is not a finite number of at least 0.
    """

    def __init__(self, task: Task, scale: float) -> None:
        if not finite(scale):
            raise BadSetting(f"priority_scale = {show(scale)}: must be a finite number of at least 0")
        self.task, self.scale = task, float(scale)
        self.added: dict[str, list[tuple[Row, float]]] = {}
        self._pools: dict[str, Pool] = {}
        self._own_rows: dict[str, Mapping[str, Row]] = {}
        self._block: tuple[tuple[int, str, int], list[float]] = ((-1, "", -1), [])

    def add(self, row: Row, weight: float | None, split: str) -> None:
        """Append a row to a split. Without `weight`, its weight is its field `weight`, or 1.

        Raises:
            BadSetting: the weight is not a finite number of at least 0.
            BadRow: the split has a row with this id.
        """
        weight = row.fields.get("weight", 1.0) if weight is None else weight
        if not finite(weight):
            raise BadSetting(f"weight = {show(weight)}: must be a finite number of at least 0")
        if any(row.id == other.id for other, _ in self.added.get(split, ())) or row.id in self._by_ids(split):
            raise BadRow(f"{split} already has a row with the id {row.id!r}; add the row under another id")
        self.added.setdefault(split, []).append((row, float(weight)))
        self._pools.pop(split, None)

    def count(self, split: str) -> int:
        """The number of rows in a split, with added rows."""
        return len(self._own(split)) + len(self.added.get(split, ()))

    def draw(self, split: str, number: int, seed: int) -> Row:
        """The row of episode `number`.

        Raises:
            BadSetting: the split has no row, or all its rows have weight 0.
        """
        own, added = self._own(split), self.added.get(split, ())
        count = len(own) + len(added)
        if not count:
            advice = "add a row with add_sample, or choose one with reset(options={'sample': ...})"
            raise BadSetting(f"{self.task.identity} has no row in {split} to draw from; {advice}")
        uniform = self._uniform(split, number, seed)
        if not self.scale:
            index = int(uniform * count)
            return own[index] if index < len(own) else added[index - len(own)][0]
        pool = self._pool(split)
        if not any(pool.weights):
            what = (
                f"all {count} rows of {split} have weight 0; with priority_scale = {self.scale:g} none "
                "can be drawn"
            )
            raise BadSetting(f"{what}; give a row a positive weight, or set priority_scale = 0")
        return pool.draw(uniform, self.scale)

    def find_row(self, split: str, options: Mapping[str, Any]) -> Row | None:
        """The row that the option `sample`, `index` or `id` names; None without such an option.

        Raises:
            BadSetting: more than one of the options is set, or the index is out of range.
            BadRow: the sample is not a valid row of this task.
            UnknownName: no row has this id.
        """
        names = [name for name in CHOICES if options.get(name) is not None]
        if len(names) > 1:
            raise BadSetting(
                f"reset got the options {' and '.join(names)}; set at most one of {', '.join(CHOICES)}"
            )
        if not names:
            return None
        value = options[names[0]]
        if names == ["sample"]:
            return sample(self.task, value)
        if names == ["id"]:
            return next(
                (row for row, _ in self.added.get(split, ()) if row.id == value), None
            ) or self._by_id(split, value)
        problem = f"index = {value!r:.80} is not in 0..{self.count(split) - 1}, the rows of {split}"
        index = as_integer(value, problem)
        if index >= self.count(split):
            raise BadSetting(problem)
        return self.at(split, index)

    def at(self, split: str, index: int) -> Row:
        """The row at an index: the task's rows come first, then the added rows in their order."""
        rows = self._own(split)
        return rows[index] if index < len(rows) else self.added[split][index - len(rows)][0]

    def _uniform(self, split: str, number: int, seed: int) -> float:
        """A uniform number in [0, 1) for an episode.

        It is one of a block of draws, because starting a stream is the slowest part of a reset.
        """
        block, place = divmod(number, BLOCK)
        if self._block[0] != (seed, split, block):
            self._block = (
                (seed, split, block),
                Key(seed, ("reset", split, block)).generator().random(BLOCK).tolist(),
            )
        return self._block[1][place]

    def _own(self, split: str) -> Any:
        if split not in self.task.spec.splits:
            raise UnknownName("split", split, self.task.spec.splits)
        return self.task.rows(split)

    def _by_id(self, split: str, id: Any) -> Row:
        if not isinstance(id, str):
            raise BadSetting(f"{naming('id', id)}; it must be a string")
        self._own(split)
        return self.task.row(split, id)

    def _by_ids(self, split: str) -> Mapping[str, Row]:
        if split not in self._own_rows:
            self._own_rows[split] = by_id(self._own(split))
        return self._own_rows[split]

    def _pool(self, split: str) -> Pool:
        if split not in self._pools:
            own, added = self._own(split), self.added.get(split, [])
            weights = [
                *(float(row.fields.get("weight", 1.0)) for row in own),
                *(weight for _, weight in added),
            ]
            self._pools[split] = Pool((*own, *(row for row, _ in added)), tuple(weights))
        return self._pools[split]


def sample(task: Task, value: Any) -> Row:
    """A row of the task from a user's row, which keeps its id, or from a mapping with the fields of a row.

    Raises:
        BadRow: it is not a valid row of this task.
    """
    if isinstance(value, Row):
        return Row(value.id, task.row_from(value.fields).fields)
    if not isinstance(value, Mapping):
        raise BadRow(
            f"the sample {value!r:.80} is {kind_of(value)}; it must be a Row or a mapping with the "
            "fields of a row"
        )
    return task.row_from(value)
