"""The trainer: builds the parts of a recipe, and makes one update at a time.

    rows -> play -> rewards.apply -> token_batch -> score -> prepare -> update -> after_update

Recorded episodes (`training.data`) are read and prepared once as a batch; each update then draws rows of it.
`Trainer.state` has all that influences the future, so a run that is killed and resumed gives the same
results.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from loquent.adapters.table import Table
from loquent.core import registry
from loquent.core.agent import make as make_agent
from loquent.core.algorithm import BatchAlgorithm, Playing, TurnAlgorithm
from loquent.core.episode import Episode
from loquent.core.metric import Context
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import EMPTY, Record
from loquent.data.groups import Groups
from loquent.data.pools import Pool, Sampler
from loquent.data.sources import share
from loquent.errors import BadSetting
from loquent.files import saved_state
from loquent.machine import parallel
from loquent.machine.identity import machine
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import token_batch
from loquent.models.tokens.rewards import ends_by, learner_rewards
from loquent.models.tokens.turns import turn_batch
from loquent.pretrained.footprint import products
from loquent.recipes import Recipe
from loquent.rewards import compose, learner
from loquent.rollout.loop import Game, play
from loquent.training import identity, rollout_summary
from loquent.training.early_stopping import EarlyStopping
from loquent.training.evaluate import Evaluation, chosen_rows, evaluate_agent
from loquent.training.metrics import build_metrics
from loquent.training.recorded import draws
from loquent.training.recorded.draws import Draws
from loquent.training.recorded.recording import Recording, RunRewards, record
from loquent.training.start import make_actor, make_task, source


class Trainer:
    """The parts of a run, built from a recipe, and its counters. It knows no folder.

    Args:
        policy: the folder of the policy in the checkpoint for `restore`; the model of the recipe is not
            loaded then.
        pool: the rows to learn from, in place of those that `training` chooses; a growing pool may be empty
            at first.

    Raises:
        BadSetting: the parts of the recipe do not fit together.
    """

    def __init__(self, recipe: Recipe, policy: Path | None = None, pool: Pool | None = None) -> None:
        self.recipe, self.settings = recipe, recipe.training
        self.key = Key(self.settings.seed)
        kind = registry.resolve("algorithm", recipe.algorithm)
        self.source = source(kind, self.settings)
        _check_processes(recipe)
        _check_answers(recipe, kind)
        self.task = make_task(recipe)
        self.actor: Any = make_actor(
            _from_policy(recipe, policy), self.task, self.key, own=policy is not None
        )
        config = recipe.config.for_run(self.settings.updates, self.settings.episodes)
        self.algorithm = kind(config, self.actor, key=self.key.child("algorithm"))
        context = Context(task=self.task, model=self.actor.language)
        self.terms, self.weights = compose.build(recipe.rewards, context)
        self.learner = learner.of_run(
            self.terms,
            recipe.config,
            name=self.algorithm.name,
            playing=issubclass(kind, Playing),
            recorded=self.source == "data",
            ends=None if issubclass(kind, Playing | TurnAlgorithm) else ends_by(self.actor.format),
        )
        self.metrics = build_metrics(recipe.metrics, context)
        self.growing = pool is not None
        if pool is None:
            with identity.naming_split("split", self.settings):
                chosen = chosen_rows(self.task, self.settings.split, self.settings.only)
            pool = weighted(share(chosen, self.settings.row_share))
        self.rows = {row.id: row for row in pool.rows}
        self.recording = self._record() if self.source == "data" else None
        self.draws = None if self.recording is None else self._draws(self.recording)
        self.sampler = Sampler(pool, self.key.child("rows"), scale=self.settings.priority)
        self.stopping = EarlyStopping(self.settings, self.metrics, self.weights)
        self.updates = self.games = 0
        self.seconds: dict[str, float] = {}
        if isinstance(self.algorithm, Playing):
            self.algorithm.sit(self._table(), self.settings.updates)

    def update(self) -> dict[str, float]:
        """Make one update and return the logged values."""
        self.seconds = {}
        if isinstance(self.algorithm, Playing):
            return self._play(self.algorithm)
        batch, summary = self.next()
        with self._timed("learn"), products(self.actor.policy, learns=True):
            logs = self.algorithm.update(self.actor, batch)
            logs |= self.algorithm.after_update(self.actor)
        self.updates += 1
        return {"update": self.updates, "episodes": self.games, **summary, **logs}

    def next(self) -> tuple[Any, dict[str, float]]:
        """The prepared batch of the next update, and its logged values.

        The batch has recorded rows, or episodes that are played now.
        """
        if self.draws is not None:
            with self._timed("collect"):
                batch = self.draws.draw(self.settings.episodes)
            self.games += len(batch)
            return batch, draws.summary(batch, self.draws)
        with self._timed("collect"):
            episodes = self.collect()
        with self._timed("score"):
            batch = self.algorithm.prepare(self.batch(episodes))
        if isinstance(self.algorithm, TurnAlgorithm):
            return batch, rollout_summary.turns(episodes, self.weights, self.task.spec)
        return batch, rollout_summary.summary(
            episodes, batch, self.weights, self.task.spec, answers=self.settings.answers
        )

    def collect(self) -> list[Episode]:
        """Play the episodes of one update and add the rewards of all terms."""
        rows = self.sampler.draw(self.settings.rows)
        each = self.settings.answers
        queue = [Game(row, self.games + i * each + j) for i, row in enumerate(rows) for j in range(each)]
        self.games += len(queue)
        episodes = play(self.task, queue, self._player(), seed=self.settings.seed, split=self.settings.split)
        if isinstance(self.algorithm, TurnAlgorithm):
            return compose.apply(self.terms, episodes, self.rows, self.learner)
        return learner_rewards(self.terms, episodes, self.rows, self.learner, self.actor.format)

    def batch(self, episodes: Sequence[Episode]) -> Any:
        """The batch for the algorithm: tokens or turns, rewards and, if it needs them, all scores."""
        actor = self.actor
        if isinstance(self.algorithm, TurnAlgorithm):
            self.algorithm.collected(episodes, self.rows)
            turns = turn_batch(episodes, actor.inputs, actor.actions, self.weights)
            return actor.score(turns) if self.algorithm.scored else turns
        batch = token_batch(
            episodes,
            actor.format,
            self.weights,
            max_length=actor.context,
            room=actor.room,
            side=actor.truncation_side,
        )
        batch = batch.to(actor.device)
        with products(actor.policy):
            return score(actor, batch) if self.algorithm.scored else batch

    def evaluate(self, split: str, episodes: int, only: Record = EMPTY) -> Evaluation:
        """Evaluate the policy, with the decoding of evaluation."""
        return evaluate_agent(
            self.task,
            self.algorithm.agent(self.actor, True),
            split=split,
            episodes=episodes,
            seed=self.settings.seed,
            metrics=self.metrics,
            terms=self.terms,
            weights=self.weights,
            only=only,
            groups=Groups(self.settings.groups, self.settings.seen, self.settings.split),
        )

    def state(self) -> dict[str, Any]:
        """All that influences the future, except the policy's own weights."""
        return {
            **self._identity(),
            "counters": {"updates": self.updates, "games": self.games, **self.stopping.state()},
            "sampler": (self.draws or self.sampler).state_dict(),
            "actor": self.actor.state_dict(),
            "algorithm": self.algorithm.state_dict(),
            **({"rewards": statistics} if (statistics := self.learner.state_dict()) else {}),
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Restore `state`.

        Raises:
            AnotherRun: it belongs to another recipe, other held-out rows or another machine.
            BadCheckpoint: a part is missing or has a wrong value.
        """
        identity.compare(state, self._identity())
        with saved_state.restoring():
            counters = saved_state.part(state, "counters")
            most = saved_state.MOST if self.growing else self.settings.updates
            updates = saved_state.count(counters, "updates", most=most)
            self.updates, self.games = updates, saved_state.count(counters, "games")
            self.stopping.restore(counters, updates)
            (self.draws or self.sampler).load_state_dict(state["sampler"])
            self.restore_policy(state)
            self.learner.load_state_dict(state.get("rewards", {}))

    def restore_policy(self, state: Mapping[str, Any]) -> None:
        """Restore only the networks and the algorithm."""
        self.actor.load_state_dict(state["actor"])
        self.algorithm.load_state_dict(state["algorithm"])

    def held_out_rows(self) -> dict[str, str]:
        """A digest of the rows of each evaluation, by split. A growing pool has none."""
        return {} if self.growing else identity.held_out_rows(self.task, self.settings)

    def _identity(self) -> dict[str, Any]:
        """The parts of the state that must be equal when the run is resumed."""
        return {
            "settings": identity.settings(self.recipe),
            "machine": machine(self.actor.device),
            "rows": self.held_out_rows(),
            "data": identity.data_digest(self.task),
        }

    def _play(self, algorithm: Playing) -> dict[str, float]:
        """Make one update of an algorithm that collects its own episodes."""
        with self._timed("play"):
            episodes, logs = algorithm.play()
        self.updates += 1
        self.games += len(episodes)
        summary = rollout_summary.turns(episodes, self.weights, self.task.spec)
        return {"update": self.updates, "episodes": self.games, **summary, **logs}

    def _table(self) -> Table:
        return Table(
            self.task,
            self.sampler,
            places=self.recipe.config.games,
            seed=self.settings.seed,
            split=self.settings.split,
            terms=self.terms,
            weights=self.weights,
            learner=self.learner,
            teacher=self._player() if self.source == "expert" else None,
        )

    def _player(self) -> Any:
        if self.source == "expert":
            return make_agent(self.settings.teacher or "expert", self.task, place="training.teacher")
        return self.algorithm.agent(self.actor, False)

    def _record(self) -> Recording:
        rewards = RunRewards(tuple(self.terms), self.weights, self.learner)
        return record(self.settings, self.task, self.actor, rewards)

    def _draws(self, recording: Recording) -> Draws:
        return Draws(
            self.algorithm.prepare(recording.batch), recording.digest, self.key.child("recorded rows")
        )

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        before = time.perf_counter()
        yield
        self.seconds[phase] = round(time.perf_counter() - before, 4)


def weighted(rows: Sequence[Row]) -> Pool:
    """A pool of rows, each with the weight in its field `weight`, or 1."""
    return Pool(tuple(rows), tuple(row.fields.get("weight", 1.0) for row in rows))


def _from_policy(recipe: Recipe, policy: Path | None) -> Recipe:
    """The recipe, with the policy of a checkpoint as its model unless `policy` is None."""
    if policy is None:
        return recipe
    return replace(recipe, model=replace(recipe.model, path=str(policy), revision=""))


def _check_processes(recipe: Recipe) -> None:
    """Raise BadSetting if a process would have no episode in a gradient step."""
    episodes, minibatch = recipe.training.episodes, recipe.config.minibatch
    if min(episodes, minibatch or episodes) < parallel.size():
        what = f"training.episodes = {episodes} and algorithm.minibatch = {minibatch}"
        raise BadSetting(f"{what}; both must be at least the {parallel.size()} processes that learn together")


def _check_answers(recipe: Recipe, kind: type) -> None:
    """Raise BadSetting if the algorithm compares answers and there are too few, or if it plays alone."""
    answers = recipe.training.answers
    if answers > 1 and issubclass(kind, Playing):
        raise BadSetting(
            f"training.answers = {answers}: {recipe.algorithm} steps its episodes itself, one on each drawn "
            "row; set training.answers to 1"
        )
    least = kind.least_answers if issubclass(kind, BatchAlgorithm) else 1
    if answers < least:
        raise BadSetting(
            f"training.answers = {answers}: {recipe.algorithm} compares the answers to one row and needs at "
            f"least {least}; set training.answers to {least} or more, for example 8"
        )
