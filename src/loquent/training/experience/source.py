"""The contract of a source of experience: it owns collecting, the batch, its state and its estimate."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from loquent.core import registry
from loquent.core.agent import make
from loquent.core.algorithm import Algorithm
from loquent.core.seeding import Key
from loquent.core.task import Task
from loquent.core.values import Record
from loquent.data.pools import Pool, Sampler
from loquent.data.tables.rows import by_id
from loquent.errors import BadSetting
from loquent.files import saved_state
from loquent.files.machine import parallel
from loquent.pretrained.footprint import products
from loquent.rewards import learner
from loquent.rewards.terms import Term
from loquent.training.estimates.estimate import Estimate
from loquent.training.experience.cuts import cut_text
from loquent.training.recipes import Recipe

BUILT_IN = {
    "tokens": "loquent.training.experience.tokens:PlayedTokens",
    "turns": "loquent.training.experience.turns:PlayedTurns",
    "lessons": "loquent.training.experience.lessons:TaughtEpisodes",
    "recorded": "loquent.training.experience.recordings:RecordedEpisodes",
    "live": "loquent.training.experience.live:LiveEpisodes",
}


def experience_of(algorithm: type[Algorithm], source: str) -> type[Experience]:
    """The source of experience of an algorithm: the one for recorded episodes, or the one that it names.

    Args:
        source: "play", "expert" or "data".

    Raises:
        BadSetting: the algorithm names something else.
    """
    name = "recorded" if source == "data" else algorithm.experience
    kind = registry.import_name(BUILT_IN.get(name, name))
    if not (isinstance(kind, type) and issubclass(kind, Experience)):
        raise BadSetting(
            f"{algorithm.__name__}.experience = {name!r} names {kind!r:.80}; name one of "
            f"{', '.join(BUILT_IN)}, or 'module:Name' of a class derived from {__name__}.Experience"
        )
    return kind


@dataclass(frozen=True)
class Parts:
    """The parts of a run that a source of experience is built from.

    source: "play", "expert" or "data". `pool` has the rows to learn from. `terms` and `weights` are the
    rewards, as `rewards.compose.build` returns them.
    """

    recipe: Recipe
    source: str
    task: Task
    actor: Any
    algorithm: Any
    pool: Pool
    terms: tuple[Any, ...]
    weights: Record
    key: Key


class Experience(ABC):
    """What the updates of a run learn from.

    settings: the section `training` of the recipe. `rows` are the rows of the pool by id, `games` is the
    number of episodes so far, and `seconds` has the time of each phase of the current update.
    """

    alone: ClassVar[bool] = False
    """Whether each episode is scored alone, as it ends."""
    recorded: ClassVar[bool] = False
    """Whether the episodes were recorded before the run."""
    decodes: bool = False
    """Whether collecting draws tokens from the policy."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.settings = parts, parts.recipe.training
        self._tells_cuts = True
        self.task, self.actor, self.algorithm = parts.task, parts.actor, parts.algorithm
        self.rows = by_id(parts.pool.rows)
        self.sampler: Any = Sampler(parts.pool, parts.key.child("rows"), scale=self.settings.priority)
        self.learner = learner.of_run(
            parts.terms,
            parts.recipe.config,
            name=parts.algorithm.name,
            playing=self.alone,
            recorded=self.recorded,
            ends=self.ends(),
            processes=parallel.size(),
        )
        self.fallible = [term.name for term in parts.terms if isinstance(term, Term) and term.fallible]
        self.fallible += parts.task.spec.failures
        if parts.task.spec.failures and parallel.size() > 1:
            endings = ", ".join(parts.task.spec.failures)
            raise BadSetting(
                f"{parts.task.identity} may end an episode by {endings!r}; nobody learns from it, and "
                f"{parallel.size()} processes would leave out different ones; train in one process"
            )
        self.games = 0
        self.seconds: dict[str, float] = {}

    @classmethod
    def check(cls, recipe: Recipe, algorithm: type[Algorithm]) -> None:
        """Raise BadSetting if the recipe asks for what this source cannot do.

        No source gives each of several processes an episode of a gradient step that has fewer episodes.
        """
        episodes, minibatch = recipe.training.episodes, recipe.config.minibatch
        if min(episodes, minibatch or episodes) < parallel.size():
            what = f"training.episodes = {episodes} and algorithm.minibatch = {minibatch}"
            raise BadSetting(
                f"{what}; both must be at least the {parallel.size()} processes that learn together"
            )

    @classmethod
    @abstractmethod
    def estimate(cls, recipe: Recipe, build: Callable[[Recipe], Any]) -> Estimate:
        """The memory, disk and time that a run of the recipe needs; `build` makes the trainer of a recipe."""

    @abstractmethod
    def update(self) -> dict[str, float]:
        """Collect the experience of one update and let the algorithm learn; returns the logged values."""

    @cached_property
    def player(self) -> str:
        """Who plays the episodes: "policy", "teacher NAME" or "recorded episodes"."""
        return f"teacher {player_of(self.parts).name}" if self.parts.source == "expert" else "policy"

    def ends(self) -> Any:
        """The function from a turn to the ends of its tokens, for rewards per token; None without tokens."""
        return None

    def held_out_loss(self) -> dict[str, float]:
        """The loss on held-out answers of a learner that imitates; empty for others."""
        return {}

    def cuts(self, logs: Mapping[str, float]) -> str:
        """The share of the prompts that are cut, the side, and what to set; "" if none is.

        `logs`: the values of an update. Only the first text of a run is not empty.
        """
        share = self._cut_share(logs) if self._tells_cuts else 0.0
        if not share:
            return ""
        self._tells_cuts = False
        answers = " (or their answers)" if self.algorithm.cuts_answers else ""
        return cut_text(
            share,
            f"of the rows to learn from{answers}",
            self.actor.room,
            self.parts.recipe.decoding,
            "decoding",
        )

    def _cut_share(self, logs: Mapping[str, float]) -> float:
        """The share of the rows that lost turns or tokens for length."""
        return logs.get("rollout/cut_prompts", 0.0)

    def needs(self) -> dict[str, int]:
        """The bytes by part that the run will allocate after its start at least; {} if they are not known."""
        return {}

    def description(self) -> dict[str, Any] | None:
        """The content of `data.json` in the run's folder; None for no such file."""
        return None

    def state_dict(self) -> dict[str, Any]:
        """All that influences later updates."""
        statistics = self.learner.state_dict()
        state = {"games": self.games, "sampler": self.sampler.state_dict()}
        return {**state, **({"rewards": statistics} if statistics else {})}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`.

        Raises:
            BadCheckpoint: a part is missing or has a wrong value.
        """
        self.games = saved_state.count(state, "games")
        self.sampler.load_state_dict(state["sampler"])
        self.learner.load_state_dict(state.get("rewards", {}))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """A context whose seconds are those of a phase."""
        before = time.perf_counter()
        yield
        self.seconds[name] = round(time.perf_counter() - before, 4)


class Batches(Experience):
    """Experience that comes as one batch for each update."""

    @abstractmethod
    def next(self) -> tuple[Any, dict[str, float]]:
        """The prepared batch of the next update, or None if there is nothing to learn; its logged values."""

    def update(self) -> dict[str, float]:
        """Make the next batch and learn from it."""
        batch, summary = self.next()
        return summary if batch is None else {**summary, **self.learn(batch)}

    def learn(self, batch: Any) -> dict[str, float]:
        """Learn from a prepared batch; returns the logged values."""
        with self.phase("learn"), products(self.actor.policy, learns=True):
            logs = self.algorithm.update(self.actor, batch)
            return {**logs, **self.algorithm.after_update(self.actor)}


def player_of(parts: Parts) -> Any:
    """The agent that plays in training: the teacher, or the algorithm's own agent."""
    if parts.source == "expert":
        return make(parts.recipe.training.teacher or "expert", parts.task, place="training.teacher")
    return parts.algorithm.agent(parts.actor, False)
