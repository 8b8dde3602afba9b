"""Pools of rows that may grow, and samplers over them whose state can be saved and taken back."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadCheckpoint, LoquentError
from loquent.seeding import Key
from loquent.task import Row
from loquent.values import digest, frozen, plain

MOST = sys.float_info.max


def finite(number: object) -> bool:
    """Whether it is a number of at least 0 that is finite as a float: a weight, or a priority scale. 10**400 is none."""
    return isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= MOST


def shown(number: object) -> str:
    """A number as an error shows it; an integer of thousands of digits cannot be written out."""
    return "an integer larger than any float" if isinstance(number, int) and abs(number) > MOST else f"{number!r:.80}"


@dataclass(frozen=True)
class Pool:
    """An append-only value: rows with a weight each. `add` and `weight` give a new pool; a running game is unaffected.

    Raises:
        LoquentError: two rows share an id, or a weight is negative or not finite.
    """

    rows: tuple[Row, ...]
    weights: tuple[float, ...] = ()  # empty: 1 for every row
    _known: dict[float, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", tuple(self.rows))
        if odd := [weight for weight in self.weights if not finite(weight)]:
            raise LoquentError(f"weights are finite and not negative, not {shown(odd[0])}")
        object.__setattr__(self, "weights", tuple(map(float, self.weights)) or (1.0,) * len(self.rows))
        if len(self.weights) != len(self.rows):
            raise LoquentError(f"a pool of {len(self.rows)} rows needs as many weights, not {len(self.weights)}")
        if len({row.id for row in self.rows}) != len(self.rows):
            ids = [row.id for row in self.rows]
            raise LoquentError(f"the id {next(id for id in ids if ids.count(id) > 1)!r} stands twice in a pool; ids are unique")

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Iterable[Row], weights: Iterable[float] = ()) -> Pool:
        """A pool with more rows at its end, of weight 1 where no weights are given."""
        added = tuple(rows)
        return Pool(self.rows + added, self.weights + (tuple(weights) or (1.0,) * len(added)))

    def weight(self, id: str, weight: float) -> Pool:
        """A pool in which one row has another weight; LookupError when there is no such row."""
        place = next((i for i, row in enumerate(self.rows) if row.id == id), None)
        if place is None:
            raise LookupError(f"no row of this pool has the id {id!r}")
        return Pool(self.rows, (*self.weights[:place], weight, *self.weights[place + 1 :]))

    def draw(self, uniform: float, scale: float = 0.0) -> Row:
        """The row at a uniform number in [0, 1), with p_i = w_i^scale / sum_j w_j^scale; O(log n).

        Raises:
            LoquentError: the pool is empty, or every row has probability 0.
        """
        bounds = self._bounds(scale)
        if not len(bounds) or bounds[-1] <= 0:
            raise LoquentError("nothing can be drawn from a pool that is empty or whose weights are all 0")
        return self.rows[int(np.searchsorted(bounds, uniform * bounds[-1], side="right"))]

    def _bounds(self, scale: float) -> NDArray[np.float64]:
        """f[n]: where the share of each row ends, the largest share being 1; worked out once for each scale."""
        if scale not in self._known:
            weights = np.asarray(self.weights, dtype=np.float64)
            most = weights.max(initial=0.0)  # powers and sums of weights themselves can be larger than any float
            self._known[scale] = np.cumsum((weights / most if most else weights) ** scale)
        return self._known[scale]


class Sampler:
    """Draws rows from a pool, always the same ones for the same key, and goes on after a resume where it stopped.

    Args:
        scale: None draws without replacement, epoch by epoch, each a new order; rows added meanwhile join at the next epoch.
            A number draws with replacement, p_i ~ w_i^scale: 0 is uniform, 1 follows the weights (the `priority_scale` of RL4LMs).

    Example:
        >>> sampler = Sampler(Pool((Row("a"), Row("b"))), Key(1))
        >>> sorted(row.id for row in sampler.draw(2))
        ['a', 'b']
    """

    def __init__(self, pool: Pool, key: Key, *, scale: float | None = None) -> None:
        if scale is not None and not finite(scale):
            raise LoquentError(f"a priority scale is a finite number of at least 0, or None for epochs; not {shown(scale)}")
        self.pool = pool
        self.key = key
        self.scale = scale
        self.drawn = 0  # rows so far, with replacement; the number of each draw names its stream
        self.epoch, self.place, self.size = 0, 0, len(pool)  # size: of the pool when this epoch began
        self._base = pool.rows
        self._order: tuple[int, Sequence[int]] | None = None

    def draw(self, n: int) -> list[Row]:
        """The next `n` rows.

        Raises:
            LoquentError: the pool is empty, or its weights are all 0.
        """
        if not len(self.pool):
            raise LoquentError("nothing can be drawn from an empty pool")
        return [self._next() if self.scale is None else self._replaced(self.scale) for _ in range(n)]

    def add(self, rows: Iterable[Row], weights: Iterable[float] = ()) -> None:
        """Let the pool grow."""
        self.pool = self.pool.add(rows, weights)

    def weight(self, id: str, weight: float) -> None:
        """Give one row another weight."""
        self.pool = self.pool.weight(id, weight)

    def state_dict(self) -> dict[str, Any]:
        """All that decides what comes next, as JSON can hold it: key, counters, added rows and weights; a digest of the first rows.

        Raises:
            LoquentError: an added row holds what JSON cannot give back (bytes, dataclasses).
        """
        added = self.pool.rows[len(self._base) :]
        for row in added:
            if frozen(plain(row.fields)) != row.fields:
                raise LoquentError(f"the added row {row.id!r} holds bytes or a dataclass and cannot be saved; use strings, numbers, tuples, Records")
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
        """Go on where the sampler that gave `state` stopped.

        Raises:
            BadCheckpoint: the rows this sampler was made with are not those of the saved one, or a part is missing.
        """
        try:
            if state["base"] != self._fingerprint:
                raise BadCheckpoint(f"the sampler was saved over other rows: {state['base']}; these are {self._fingerprint}")
            added = tuple(Row(row["id"], frozen(row["fields"])) for row in state["added"])
            self.pool = Pool(self._base + added, tuple(state["weights"] or ()))
            self.key = Key(state["key"]["seed"], tuple(state["key"]["path"]))
            self.scale, self.drawn = state["scale"], state["drawn"]
            self.epoch, self.place, self.size = state["epoch"], state["place"], state["size"]
            self._order = None
        except (KeyError, TypeError) as error:
            raise BadCheckpoint(f"the state of a sampler is incomplete ({type(error).__name__}: {error})") from error

    @cached_property
    def _fingerprint(self) -> dict[str, Any]:
        return {"count": len(self._base), "digest": digest(tuple((row.id, row.fields) for row in self._base), 16)}

    def _next(self) -> Row:
        if self.place >= self.size:
            self.epoch, self.place, self.size = self.epoch + 1, 0, len(self.pool)
        if self._order is None or self._order[0] != self.epoch:
            self._order = self.epoch, self.key.child("epoch", self.epoch).generator().permutation(self.size).tolist()
        self.place += 1
        return self.pool.rows[self._order[1][self.place - 1]]

    def _replaced(self, scale: float) -> Row:
        uniform = self.key.child("draw", self.drawn).generator().random()
        self.drawn += 1
        return self.pool.draw(uniform, scale)
