"""Pools of weighted rows that may grow, and samplers over them with a state that can be saved and loaded."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key, as_integer
from loquent.core.task import Row, Task
from loquent.core.values import EMPTY, Record, digest, freeze, plain
from loquent.data import content
from loquent.data.tables.rows import Rows
from loquent.errors import BadCheckpoint, LoquentError, require
from loquent.files import saved_state

MOST = sys.float_info.max


def finite(number: object) -> bool:
    """Whether a value is a number of at least 0 and finite as a float (10**400 is not)."""
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= MOST


def show(number: object) -> str:
    """A number as text for an error; Python refuses to print an integer of thousands of digits."""
    return (
        "an integer larger than any float"
        if isinstance(number, int) and abs(number) > MOST
        else f"{number!r:.80}"
    )


@dataclass(frozen=True)
class Pool:
    """An append-only value: rows with one weight each.

    `add` and `weight` return a new pool and leave this one unchanged.

    Raises:
        LoquentError: two rows share an id, or a weight is negative or not finite.
    """

    rows: Sequence[Row]
    weights: tuple[float, ...] = ()  # empty: 1 for every row
    _cumulative: dict[float, NDArray[np.float64]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not isinstance(self.rows, Rows):
            object.__setattr__(self, "rows", tuple(self.rows))
        if bad := [weight for weight in self.weights if not finite(weight)]:
            raise LoquentError(f"a weight is {show(bad[0])}; it must be a finite number of at least 0")
        object.__setattr__(self, "weights", tuple(map(float, self.weights)) or (1.0,) * len(self.rows))
        if len(self.weights) != len(self.rows):
            raise LoquentError(
                f"a pool of {len(self.rows)} rows has {len(self.weights)} weights; it must have one "
                "weight per row, or none at all"
            )
        if not isinstance(self.rows, Rows) and len({row.id for row in self.rows}) != len(self.rows):
            ids = [row.id for row in self.rows]
            raise LoquentError(
                f"the id {next(id for id in ids if ids.count(id) > 1)!r} occurs twice in a pool; ids "
                "must be unique"
            )

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Iterable[Row], weights: Iterable[float] = ()) -> Pool:
        """A pool with more rows at its end; their weights are 1 by default."""
        more = tuple(rows)
        rows = (*self.rows, *more) if more else self.rows
        return Pool(rows, self.weights + (tuple(weights) or (1.0,) * len(more)))

    def weight(self, id: str, weight: float) -> Pool:
        """A pool in which the row of this id has another weight; LookupError if there is no such row."""
        index = next((i for i, row in enumerate(self.rows) if row.id == id), None)
        if index is None:
            raise LookupError(f"no row of this pool has the id {id!r}")
        return Pool(self.rows, (*self.weights[:index], weight, *self.weights[index + 1 :]))

    def draw(self, uniform: float, scale: float = 0.0) -> Row:
        """The row that a uniform number in [0, 1) selects, with p_i = w_i^scale / sum_j w_j^scale; O(log n).

        Raises:
            LoquentError: the pool is empty, or every row has probability 0.
        """
        bounds = self._bounds(scale)
        if not len(bounds) or bounds[-1] <= 0:
            raise LoquentError(
                "the pool is empty or all its weights are 0; it must have a row of positive weight "
                "to draw from it"
            )
        return self.rows[int(np.searchsorted(bounds, uniform * bounds[-1], side="right"))]

    def _bounds(self, scale: float) -> NDArray[np.float64]:
        """f[n]: the cumulative sums of w_i^scale, relative to the largest weight; cached for each scale."""
        if scale not in self._cumulative:
            weights = np.asarray(self.weights, dtype=np.float64)
            most = weights.max(initial=0.0)  # powers and sums of the weights themselves can overflow
            self._cumulative[scale] = np.cumsum((weights / most if most else weights) ** scale)
        return self._cumulative[scale]


class Sampler:
    """Draws rows from a pool. The same key gives the same rows, and a resumed sampler continues exactly.

    Args:
        scale: None draws without replacement, in epochs of different order; added rows join at the next
            epoch. A number draws with replacement, p_i ~ w_i^scale: 0 is uniform, 1 is proportional to the
            weights (the `priority_scale` of RL4LMs).

    Example:
        >>> sampler = Sampler(Pool((Row("a"), Row("b"))), Key(1))
        >>> sorted(row.id for row in sampler.draw(2))
        ['a', 'b']
    """

    def __init__(self, pool: Pool, key: Key, *, scale: float | None = None) -> None:
        if scale is not None and not finite(scale):
            raise LoquentError(
                f"the priority scale is {show(scale)}; it must be a finite number of at least 0, or "
                "None for epochs"
            )
        self.pool = pool
        self.key = key
        self.scale = scale
        self.drawn = 0  # the number of draws with replacement; it names the next draw's random stream
        self.epoch, self.place, self.size = 0, 0, len(pool)  # size: the pool's size when this epoch began
        self._base = pool.rows
        self._order: tuple[int, NDArray[np.int64]] | None = None

    def draw(self, n: int) -> list[Row]:
        """The next `n` rows.

        Raises:
            LoquentError: the pool is empty, or its weights are all 0.
        """
        if not len(self.pool):
            raise LoquentError("the pool is empty; add rows before you draw")
        return [self._next() if self.scale is None else self._with_replacement(self.scale) for _ in range(n)]

    def add(self, rows: Iterable[Row], weights: Iterable[float] = ()) -> None:
        """Add rows to the pool; their weights are 1 by default."""
        self.pool = self.pool.add(rows, weights)

    def weight(self, id: str, weight: float) -> None:
        """Change the weight of one row; LookupError if there is no such row."""
        self.pool = self.pool.weight(id, weight)

    def state_dict(self) -> dict[str, Any]:
        """The state that determines all further draws, as JSON.

        It has the key, counters, added rows, weights, and a digest of the first rows.

        Raises:
            LoquentError: an added row holds a value that JSON cannot represent (bytes, dataclasses).
        """
        added = self.pool.rows[len(self._base) :]
        for row in added:
            if freeze(plain(row.fields)) != row.fields:
                raise LoquentError(
                    f"the added row {row.id!r} holds bytes or a dataclass; use strings, numbers, "
                    "tuples and Records, which can be saved"
                )
        return {
            "key": {"seed": self.key.seed, "path": list(self.key.path)},
            "scale": self.scale,
            "drawn": self.drawn,
            "epoch": self.epoch,
            "place": self.place,
            "size": self.size,
            "base": self._fingerprint,
            "added": [{"id": row.id, "fields": plain(row.fields)} for row in added],
            "weights": list(self.pool.weights) if set(self.pool.weights) - {1.0} else None,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue exactly after the last draw of the sampler that returned `state`.

        Raises:
            BadCheckpoint: the saved sampler had other first rows, or a part is missing or out of its range.
        """
        if (base := saved_state.field(state, "base")) != self._fingerprint:
            raise BadCheckpoint(
                f"the sampler was saved with other rows: {base}; they must be the rows here: "
                f"{self._fingerprint}"
            )
        weights = saved_state.field(state, "weights")
        try:
            added = tuple(
                Row(saved_state.text(row, "id"), freeze(saved_state.part(row, "fields")))
                for row in saved_state.items(state, "added")
            )
            rows = (*self._base, *added) if added else self._base
            pool = Pool(rows, () if weights is None else tuple(saved_state.items(state, "weights")))
        except BadCheckpoint:
            raise
        except LoquentError as error:  # two rows with the same id, or bad weights
            raise BadCheckpoint(f"the pool of a sampler: {error}") from error
        key = saved_state.part(state, "key")
        scale = None if saved_state.field(state, "scale") is None else saved_state.number(state, "scale", 0)
        size = saved_state.count(state, "size", most=len(pool))
        counted = {"drawn": saved_state.MOST, "epoch": saved_state.MOST, "place": size}
        drawn, epoch, place = (saved_state.count(state, name, most) for name, most in counted.items())
        path = saved_state.items(key, "path")
        if not all(isinstance(step, str) or type(step) is int for step in path):
            raise saved_state.wrong("path", path, "a list of texts and integers")
        self.key = Key(saved_state.count(key, "seed"), tuple(path))
        self.pool, self.scale, self.size = pool, scale, size
        self.drawn, self.epoch, self.place, self._order = drawn, epoch, place, None

    @cached_property
    def _fingerprint(self) -> dict[str, Any]:
        rows = self._base
        if isinstance(rows, Rows):
            return {"count": len(rows), "digest": rows.digest}
        return {"count": len(rows), "digest": _digest(rows)}

    def _next(self) -> Row:
        if self.place >= self.size:
            self.epoch, self.place, self.size = self.epoch + 1, 0, len(self.pool)
        if self._order is None or self._order[0] != self.epoch:
            order = self.key.child("epoch", self.epoch).generator().permutation(self.size)
            self._order = self.epoch, order
        self.place += 1
        return self.pool.rows[int(self._order[1][self.place - 1])]

    def _with_replacement(self, scale: float) -> Row:
        uniform = self.key.child("draw", self.drawn).generator().random()
        self.drawn += 1
        return self.pool.draw(uniform, scale)


@content.kept_of_rows(4)
def _digest(rows: Sequence[Row]) -> str:
    return digest(tuple((row.id, row.fields) for row in rows), 16)


def evaluation_seed(seed: int) -> int:
    """The seed of all evaluations of a run; training never uses its streams."""
    return Key(seed, ("evaluation",)).integer(53)


def chosen_rows(task: Task, split: str, only: Record = EMPTY) -> Sequence[Row]:
    """The rows of a split whose fields have the values of `only`.

    Raises:
        LoquentError: there is none, or two rows have one id: rewards and metrics find rows by their ids.
    """
    every = task.rows(split)
    if not isinstance(every, Rows) and len({row.id for row in every}) < len(every):
        id, count = Counter(row.id for row in every).most_common(1)[0]
        raise LoquentError(
            f"{task.identity} has {count} rows with the id {id!r} in its split {split!r}; every row must "
            "have an id of its own"
        )
    rows = every
    if only and isinstance(every, Rows):
        rows = every.select(lambda row: _has(row, only))
    elif only:
        rows = [row for row in every if _has(row, only)]
    if not rows:
        raise LoquentError(
            f"{task.identity} has no rows in its split {split!r}" + (f" with {dict(only)}" if only else "")
        )
    return rows


def _has(row: Row, fields: Record) -> bool:
    return all(row.fields.get(name) == value for name, value in fields.items())


def held_out(task: Task, split: str, count: int, only: Record = EMPTY) -> list[Sequence[Row]]:
    """`count` rows of a split, in rounds: the whole split as often as needed, then its beginning.

    Raises:
        BadSetting: `split` is no text, or `count` is no integer or less than 1.
        LoquentError: the split has no such rows.
    """
    require(split, str, "split", "the name of a split of the task")
    count = as_integer(count, f"episodes = {count!r:.80}: must be an integer of at least 1", low=1)
    rows = chosen_rows(task, split, only)
    return [rows[: count - done] for done in range(0, count, len(rows))]
