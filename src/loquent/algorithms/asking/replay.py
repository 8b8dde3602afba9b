"""The replay of interactions: transitions as numbers of texts, drawn with returns of n steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from loquent.algorithms.asking.sum_tree import SumTree
from loquent.algorithms.asking.texts import Texts
from loquent.core.seeding import Key
from loquent.errors import BadCheckpoint
from loquent.files import saved_state
from loquent.models.asking.inputs import Situation

GOES_ON, ENDED, CUT = 0, 1, 2  # what follows a transition: the next one, nothing, or a state without a reward
SMALLEST = 1e-6  # added to the errors of transitions, so that each can be drawn


class Step(NamedTuple):
    """A transition of an episode: action in a situation, reward, next situation, and `GOES_ON`, ..."""

    situation: Situation
    action: int
    reward: float
    following: Situation
    end: int


@dataclass(frozen=True, eq=False)
class Drawn:
    """N transitions of n_i steps each.

    returns: f32[N], Σ_{i<n} γ^i r_i; discount: f32[N], γ^n; alive: bool[N], whether `following` has a value.
    place: i64[N], for `Replay.learned`; weight: f32[N], the weights of importance sampling.
    """

    situations: list[Situation]
    action: NDArray[np.int64]
    returns: NDArray[np.float32]
    following: list[Situation]
    discount: NDArray[np.float32]
    alive: NDArray[np.bool_]
    place: NDArray[np.int64]
    weight: NDArray[np.float32]


class Ring:
    """The last `size` transitions, in the order of play, episode after episode."""

    def __init__(self, size: int, sentences: int, texts: Texts) -> None:
        self.size, self.sentences, self.texts = size, sentences, texts
        self.next, self.full = 0, False
        # the action, the commands left and left next, then numbers of texts: question, queries, searched
        # words, memory, and the next queries, searched words and memory
        self.numbers = np.zeros((size, 8 + 2 * sentences), np.int32)
        self.reward, self.end = np.zeros(size, np.float32), np.zeros(size, np.uint8)

    def __len__(self) -> int:
        return self.size if self.full else self.next

    @property
    def used(self) -> NDArray[np.int32]:
        """The numbers of texts of all transitions, as a view."""
        return self.numbers[: len(self), 3:]

    def add(self, steps: Sequence[Step]) -> NDArray[np.int64]:
        """Add the transitions of an episode; returns their places."""
        places = (self.next + np.arange(len(steps))) % self.size
        for place, step in zip(places.tolist(), steps, strict=True):
            now, after = step.situation, step.following
            question = self.texts.ids((now.question,))
            texts = (*question, *self._texts(now), *self._texts(after))
            self.numbers[place] = (step.action, now.left, after.left, *texts)
            self.reward[place], self.end[place] = step.reward, step.end
        self.full = self.full or self.next + len(steps) >= self.size
        self.next = (self.next + len(steps)) % self.size
        return places

    def draw(
        self,
        places: NDArray[np.int64],
        steps: NDArray[np.int64],
        gamma: float,
        weight: NDArray[np.float32],
    ) -> Drawn:
        """The transitions of these places over `steps` steps each, fewer where the episode ends before."""
        last, count = places.copy(), np.ones(len(places), np.int64)
        returns = self.reward[places].astype(np.float64)
        for _ in range(1, int(steps.max(initial=1))):
            further = (self.end[last] == GOES_ON) & (count < steps)
            last = np.where(further, (last + 1) % self.size, last)
            returns += np.where(further, gamma**count * self.reward[last], 0.0)
            count += further
        cut = 6 + self.sentences
        return Drawn(
            [self._situation(row[3], row[4:cut], row[1]) for row in self.numbers[places].tolist()],
            self.numbers[places, 0].astype(np.int64),
            returns.astype(np.float32),
            [self._situation(row[3], row[cut:], row[2]) for row in self.numbers[last].tolist()],
            (gamma**count).astype(np.float32),
            self.end[last] != ENDED,
            places,
            weight,
        )

    def state_dict(self) -> dict[str, Any]:
        """The filled part, and where the next transition is written."""
        filled = len(self)
        return {
            "next": self.next,
            "full": self.full,
            "numbers": torch.from_numpy(self.numbers[:filled].copy()),
            "reward": torch.from_numpy(self.reward[:filled].copy()),
            "end": torch.from_numpy(self.end[:filled].copy()),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it is of a replay of another size."""
        self.next = saved_state.count(state, "next", most=self.size - 1)
        self.full = saved_state.flag(state, "full")
        for name in ("numbers", "reward", "end"):
            array, saved = getattr(self, name), state[name].numpy()
            if saved.shape != (len(self), *array.shape[1:]) or saved.dtype != array.dtype:
                raise BadCheckpoint(
                    f"the replay's {name} have the shape {saved.shape}; this run's replay needs "
                    f"{(len(self), *array.shape[1:])}; resume with the settings of the run"
                )
            array[: len(saved)] = saved
        used = self.used
        if len(used) and not (used.min() >= -1 and used.max() < len(self.texts)):
            raise BadCheckpoint("the replay names texts that the checkpoint lacks; use an undamaged one")

    def _texts(self, situation: Situation) -> list[int]:
        """The numbers of queries, searched words, and memory, which -1 fills up."""
        ids = self.texts.ids((situation.queries, situation.searched, *situation.memory))
        return [*ids, *[-1] * (2 + self.sentences - len(ids))]

    def _situation(self, question: int, others: Sequence[int], left: int) -> Situation:
        texts = self.texts
        queries, searched, *memory = others
        sentences = tuple([texts[number] for number in memory if number >= 0])
        return Situation(texts[question], sentences, texts[queries], texts[searched], left)


class Replay:
    """Transitions that are drawn uniformly.

    Each time a ring begins again, the texts that no transition has any more are forgotten.

    Args:
        size: transitions that are kept. sentences: the most in a memory.
        most: n is drawn uniformly from 1 to this number, for each transition.
    """

    def __init__(self, size: int, sentences: int, most: int, gamma: float) -> None:
        self.texts = Texts()
        self.most, self.gamma = most, gamma
        self.rings = [Ring(part, sentences, self.texts) for part in self._parts(size)]

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

    def learned(self, drawn: Drawn, errors: NDArray[np.float64]) -> None:
        """Note the errors of drawn transitions; they have no effect here."""

    def state_dict(self) -> dict[str, Any]:
        """The transitions and their texts."""
        return {
            "texts": list(self.texts.all),
            "rings": {str(i): ring.state_dict() for i, ring in enumerate(self.rings)},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`."""
        self.texts.load(saved_state.items(state, "texts"))
        for i, ring in enumerate(self.rings):
            ring.load_state_dict(saved_state.part(saved_state.part(state, "rings"), str(i)))

    def _add(self, ring: Ring, steps: Sequence[Step]) -> NDArray[np.int64]:
        before = ring.next
        places = ring.add(steps[-ring.size :])
        if ring.next <= before:
            self.texts.keep([each.used for each in self.rings])
        return places

    def _drawn(
        self,
        ring: int,
        places: NDArray[np.int64],
        rng: np.random.Generator,
        weight: NDArray[np.float32] | None = None,
    ) -> Drawn:
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
        return joined(parts)


class Prioritized(Replay):
    """Proportional prioritisation (arXiv:1511.05952 sec. 3.3): P(i) ∝ (|δ_i| + ε)^α.

    New transitions have the greatest priority so far.

    A draw takes one transition of each of N equal parts of the total. Its weights are (N_all P(i))^-β,
    divided by the greatest of the draw.

    Args:
        alpha: α. beta: β, which may be changed between draws.
    """

    def __init__(
        self, size: int, sentences: int, most: int, gamma: float, *, alpha: float, beta: float
    ) -> None:
        super().__init__(size, sentences, most, gamma)
        self.tree, self.alpha, self.beta, self.greatest = SumTree(size), alpha, beta, 1.0

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

    def learned(self, drawn: Drawn, errors: NDArray[np.float64]) -> None:
        """Set the priorities of drawn transitions by their errors δ."""
        weights = (np.abs(errors) + SMALLEST) ** self.alpha
        self.greatest = max(self.greatest, float(weights.max()))
        self.tree.put(drawn.place, weights)

    def state_dict(self) -> dict[str, Any]:
        weights = torch.from_numpy(self.tree.weights(np.arange(len(self))))
        return {**super().state_dict(), "weights": weights, "greatest": self.greatest}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self.greatest = saved_state.number(state, "greatest", 0.0)
        weights = state["weights"].numpy()
        if weights.shape != (len(self),) or not (weights > 0).all():
            raise BadCheckpoint("the replay's weights must be positive, one for each transition")
        self.tree = SumTree(self.tree.size)
        self.tree.put(np.arange(len(weights)), weights)


def joined(parts: Sequence[Drawn]) -> Drawn:
    """Several draws as one; their places mean nothing any more."""
    columns: dict[str, Any] = {}
    for field in fields(Drawn):
        values = [getattr(part, field.name) for part in parts]
        listed = isinstance(values[0], list)
        columns[field.name] = (
            [each for value in values for each in value] if listed else np.concatenate(values)
        )
    return Drawn(**columns)
