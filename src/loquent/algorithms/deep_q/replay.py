"""The replay of transitions, drawn with returns of n steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from loquent.algorithms.deep_q.sum_tree import SumTree
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.errors import BadCheckpoint
from loquent.files import saved_state
from loquent.pretrained.learning.turn_network import Store

GOES_ON, ENDED, CUT = 0, 1, 2  # what follows a transition: the next one, nothing, or a state without a reward
SMALLEST = 1e-6  # added to the errors of transitions, so that each can be drawn
COLUMNS = ("action", "reward", "end", "goal")  # of a ring, beside the observations
Arrays = dict[str, NDArray[Any]]


class Step(NamedTuple):
    """A transition of an episode; `end` is `GOES_ON`, `ENDED` or `CUT`.

    goal: whether the goal holds in `observation`; False if nobody asks.
    """

    observation: Observation
    action: int
    reward: float
    following: Observation
    end: int
    goal: bool = False


@dataclass(frozen=True, eq=False)
class Drawn:
    """N transitions of n_i steps each; `now` and `following` are for `Store.batch`.

    returns: f32[N], Σ_{i<n} γ^i r_i; discount: f32[N], γ^n; alive: bool[N], whether `following` has a value.
    place: i64[N], for `Replay.note_errors`; weight: f32[N], the weights of importance sampling.
    goal: f32[N], whether the goal holds in `now`.
    """

    now: Arrays
    action: NDArray[np.int64]
    returns: NDArray[np.float32]
    following: Arrays
    discount: NDArray[np.float32]
    alive: NDArray[np.bool_]
    place: NDArray[np.int64]
    weight: NDArray[np.float32]
    goal: NDArray[np.float32]

    def take(self, numbers: list[int]) -> Drawn:
        """These transitions."""

        def own(value: Any) -> Any:
            return (
                {key: own(array) for key, array in value.items()} if type(value) is dict else value[numbers]
            )

        return Drawn(**{field.name: own(getattr(self, field.name)) for field in fields(self)})


class Ring:
    """The last `size` transitions, in the order of play, episode after episode.

    The arrays of observations are made with the first transition, whose shapes they have.
    """

    def __init__(self, size: int, store: Store) -> None:
        self.size, self.store = size, store
        self.next, self.full = 0, False
        self.now: Arrays = {}
        self.following: Arrays = {}
        self.action = np.zeros(size, np.int32)
        self.reward = np.zeros(size, np.float32)
        self.end, self.goal = np.zeros(size, np.uint8), np.zeros(size, np.bool_)

    def __len__(self) -> int:
        return self.size if self.full else self.next

    @property
    def observation_arrays(self) -> list[Arrays]:
        """The arrays of the observations of all transitions, as views."""
        return [{name: array[: len(self)] for name, array in side.items()} for side in self._sides]

    def bytes_of(self, packed: Arrays) -> int:
        """The bytes of all arrays, for observations of these shapes."""
        observations = 2 * self.size * sum(array.nbytes for array in packed.values())
        return observations + sum(getattr(self, name).nbytes for name in COLUMNS)

    def add(self, steps: Sequence[Step]) -> NDArray[np.int64]:
        """Add the transitions of an episode; returns their places."""
        places = (self.next + np.arange(len(steps))) % self.size
        after: tuple[Observation, Arrays] | None = None
        for place, step in zip(places.tolist(), steps, strict=True):
            same = after is not None and after[0] is step.observation
            packed = after[1] if after and same else self.store.pack(step.observation)
            after = step.following, self.store.pack(step.following)
            self.allocate(packed)
            for side, arrays in zip(self._sides, (packed, after[1]), strict=True):
                for name, array in arrays.items():
                    side[name][place] = array
            for name in COLUMNS:
                getattr(self, name)[place] = getattr(step, name)
        self.full = self.full or self.next + len(steps) >= self.size
        self.next = (self.next + len(steps)) % self.size
        return places

    def allocate(self, packed: Arrays) -> None:
        """Make the arrays of observations, if there are none yet."""
        for side in self._sides if not self.now else ():
            side |= {name: np.zeros((self.size, *x.shape), x.dtype) for name, x in packed.items()}

    def draw(
        self,
        places: NDArray[np.int64],
        steps: NDArray[np.int64],
        gamma: float,
        weight: NDArray[np.float32],
    ) -> Drawn:
        """The transitions of these places over `steps` steps each, fewer where the episode ends before.

        The return is R = Σ_{i<n} γ^i r_i (arXiv:1710.02298 eq. 1).
        """
        last, count = places.copy(), np.ones(len(places), np.int64)
        returns = self.reward[places].astype(np.float64)
        for _ in range(1, int(steps.max(initial=1))):
            further = (self.end[last] == GOES_ON) & (count < steps)
            last = np.where(further, (last + 1) % self.size, last)
            returns += np.where(further, gamma**count * self.reward[last], 0.0)
            count += further
        return Drawn(
            {name: array[places] for name, array in self.now.items()},
            self.action[places].astype(np.int64),
            returns.astype(np.float32),
            {name: array[last] for name, array in self.following.items()},
            (gamma**count).astype(np.float32),
            self.end[last] != ENDED,
            places,
            weight,
            self.goal[places].astype(np.float32),
        )

    def state_dict(self) -> dict[str, Any]:
        """The filled part, and where the next transition is written."""
        now, following = (
            {name: torch.from_numpy(array.copy()) for name, array in side.items()}
            for side in self.observation_arrays
        )
        return {
            "next": self.next,
            "full": self.full,
            "now": now,
            "following": following,
            **{name: torch.from_numpy(getattr(self, name)[: len(self)].copy()) for name in COLUMNS},
        }

    def load_state_dict(self, state: Mapping[str, Any], packed: Arrays) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it is of a replay of another size.

        Args:
            packed: the arrays of an observation of this run, empty where none has been played yet.
        """
        self.next = saved_state.count(state, "next", most=self.size - 1)
        self.full = saved_state.flag(state, "full")
        self.now, self.following = {}, {}
        if len(self):
            self.allocate(packed)
        for name in COLUMNS:
            self._fill(name, getattr(self, name), saved_state.field(state, name))
        for name, side in (("now", self.now), ("following", self.following)):
            saved = saved_state.part(state, name)
            for each, array in side.items():
                self._fill(f"{name}.{each}", array, saved_state.field(saved, each))
        if len(self) and not self.now:
            raise BadCheckpoint(
                "the replay has transitions and no game is running; use an undamaged checkpoint"
            )
        for arrays in self.observation_arrays if self.now else ():
            self.store.check(arrays)

    @property
    def _sides(self) -> tuple[Arrays, Arrays]:
        return self.now, self.following

    def _fill(self, name: str, array: NDArray[Any], tensor: Any) -> None:
        saved = tensor.numpy()
        if saved.shape != (len(self), *array.shape[1:]) or saved.dtype != array.dtype:
            raise BadCheckpoint(
                f"the replay's {name} has the shape {saved.shape}; this run's replay needs "
                f"{(len(self), *array.shape[1:])}; resume with the settings of the run"
            )
        array[: len(saved)] = saved


class Replay:
    """Transitions that are drawn uniformly.

    Args:
        size: transitions that are kept.
        most: the number of steps of a transition; with `vary`, n is drawn uniformly from 1 to this number,
            for each transition.
    """

    def __init__(self, size: int, store: Store, most: int, gamma: float, *, vary: bool = False) -> None:
        self.store, self.most, self.gamma, self.vary = store, most, gamma, vary
        self.rings = [Ring(part, store) for part in self._parts(size)]

    def _parts(self, size: int) -> list[int]:
        return [size]

    def __len__(self) -> int:
        return sum(map(len, self.rings))

    def add(self, steps: Sequence[Step]) -> None:
        """Add an episode."""
        self._add(self.rings[0], steps)

    def draw(self, count: int, key: Key) -> Drawn:
        """Draw `count` transitions, with replacement."""
        rng = key.generator()
        return self._drawn(0, rng.integers(len(self.rings[0]), size=count), rng)

    def note_errors(self, drawn: Drawn, errors: NDArray[np.float64]) -> None:
        """Note the errors of drawn transitions; they have no effect here."""

    def state_dict(self) -> dict[str, Any]:
        """The transitions, and what they refer to."""
        return {
            "store": self.store.state_dict(),
            "rings": {str(i): ring.state_dict() for i, ring in enumerate(self.rings)},
        }

    def load_state_dict(self, state: Mapping[str, Any], packed: Arrays) -> None:
        """Restore a state from `state_dict`; `packed` as in `Ring.load_state_dict`."""
        self.store.load_state_dict(saved_state.part(state, "store"))
        for i, ring in enumerate(self.rings):
            ring.load_state_dict(saved_state.part(saved_state.part(state, "rings"), str(i)), packed)

    def _add(self, ring: Ring, steps: Sequence[Step]) -> NDArray[np.int64]:
        before = ring.next
        places = ring.add(steps[-ring.size :])
        if ring.next <= before:
            self.store.tidy([side for each in self.rings for side in each.observation_arrays if side])
        return places

    def _drawn(
        self,
        ring: int,
        places: NDArray[np.int64],
        rng: np.random.Generator,
        weight: NDArray[np.float32] | None = None,
    ) -> Drawn:
        steps = np.full(len(places), self.most)
        if self.vary:
            steps = rng.integers(1, self.most + 1, size=len(places))
        weight = np.ones(len(places), np.float32) if weight is None else weight
        return self.rings[ring].draw(places, steps, self.gamma, weight)


class Queues(Replay):
    """The two queues of the released code: half of the places are for episodes with a positive return.

    Half of a draw is from their queue, as far as it has transitions.
    """

    def _parts(self, size: int) -> list[int]:
        return [max(1, size // 2), max(1, size - size // 2)]

    def add(self, steps: Sequence[Step]) -> None:
        self._add(self.rings[0 if sum(step.reward for step in steps) > 0 else 1], steps)

    def draw(self, count: int, key: Key) -> Drawn:
        rng = key.generator()
        sizes = [len(ring) for ring in self.rings]
        first = min(count // 2, sizes[0]) if sizes[1] else count
        parts = [
            self._drawn(i, rng.integers(size, size=share), rng)
            for i, (size, share) in enumerate(zip(sizes, (first, count - first), strict=True))
            if share
        ]
        return concatenate(parts)


class Prioritized(Replay):
    """Proportional prioritisation (arXiv:1511.05952 sec. 3.3): P(i) ∝ (|δ_i| + ε)^α.

    New transitions have the greatest priority so far.

    A draw takes one transition of each of N equal parts of the total. Its weights are (N_all P(i))^-β,
    divided by the greatest of the draw.

    Args:
        alpha: α. beta: β, which may be changed between draws.
    """

    def __init__(self, *sizes: Any, alpha: float, beta: float, **more: Any) -> None:
        super().__init__(*sizes, **more)
        [ring] = self.rings
        self.tree, self.alpha, self.beta, self.greatest = SumTree(ring.size), alpha, beta, 1.0

    def add(self, steps: Sequence[Step]) -> None:
        places = self._add(self.rings[0], steps)
        self.tree.put(places, np.full(len(places), self.greatest))

    def draw(self, count: int, key: Key) -> Drawn:
        rng, total = key.generator(), self.tree.total
        reached = (np.arange(count) + rng.random(count)) * (total / count)
        places = self.tree.find(np.minimum(reached, np.nextafter(total, 0.0)))
        chance = self.tree.weights(places) / total
        weight = (len(self) * chance) ** -self.beta
        return self._drawn(0, places, rng, (weight / weight.max()).astype(np.float32))

    def note_errors(self, drawn: Drawn, errors: NDArray[np.float64]) -> None:
        """Set the priorities of drawn transitions by their errors δ."""
        weights = (np.abs(errors) + SMALLEST) ** self.alpha
        self.greatest = max(self.greatest, float(weights.max()))
        self.tree.put(drawn.place, weights)

    def state_dict(self) -> dict[str, Any]:
        weights = torch.from_numpy(self.tree.weights(np.arange(len(self))))
        return {**super().state_dict(), "weights": weights, "greatest": self.greatest}

    def load_state_dict(self, state: Mapping[str, Any], packed: Arrays) -> None:
        super().load_state_dict(state, packed)
        self.greatest = saved_state.number(state, "greatest", 0.0)
        weights = state["weights"].numpy()
        if weights.shape != (len(self),) or not (weights > 0).all():
            raise BadCheckpoint("the replay's weights must be positive, one for each transition")
        self.tree = SumTree(self.tree.size)
        self.tree.put(np.arange(len(weights)), weights)


def concatenate(parts: Sequence[Drawn]) -> Drawn:
    """Several draws as one; their places mean nothing any more."""
    columns: dict[str, Any] = {}
    for field in fields(Drawn):
        values = [getattr(part, field.name) for part in parts]
        columns[field.name] = (
            {name: np.concatenate([value[name] for value in values]) for name in values[0]}
            if isinstance(values[0], dict)
            else np.concatenate(values)
        )
    return Drawn(**columns)
