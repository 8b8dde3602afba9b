"""The trainer: builds the parts of a recipe, and makes one update at a time.

The experience of an update comes from a source in `training/experience/`, which the algorithm names.
`Trainer.state` has all that influences the future, so a run that is killed and resumed gives the same
results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loquent.core import registry
from loquent.core.agent import decoding_text
from loquent.core.metric import Context
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import EMPTY, Record, plain
from loquent.data.groups import Groups
from loquent.data.pools import Pool, chosen_rows
from loquent.files import saved_state
from loquent.files.machine import parallel
from loquent.files.machine.identity import machine
from loquent.pretrained.learning.turn_network import TurnNetwork
from loquent.rewards import compose
from loquent.training import identity, start
from loquent.training.early_stopping import EarlyStopping
from loquent.training.evaluate import Evaluation, evaluate_agent, play_held_out
from loquent.training.experience.source import Experience, Parts, experience_of
from loquent.training.metrics import build_metrics
from loquent.training.recipes import Recipe


class Trainer:
    """The parts of a run, built from a recipe, and its counters. It knows no folder.

    Args:
        policy: the folder of the policy for `restore`, in place of the recipe's model.
        pool: the rows to learn from, in place of those of `training`; a growing pool may be empty at first.

    Raises:
        BadSetting: the parts of the recipe do not fit together.
    """

    def __init__(self, recipe: Recipe, policy: Path | None = None, pool: Pool | None = None) -> None:
        self.recipe, self.settings = recipe, recipe.training
        self.key = Key(self.settings.seed)
        kind = registry.resolve("algorithm", recipe.algorithm)
        source = start.source(kind, self.settings)
        experience = experience_of(kind, source)
        experience.check(recipe, kind)
        self.task = start.make_task(recipe)
        self.data = identity.data_digest(self.task, recipe)  # once: later the files may have changed
        model = start.from_policy(recipe, policy)
        self.actor: Any = start.make_actor(model, self.task, self.key, own=policy is not None)
        config = recipe.config.for_run(self.settings.updates, self.settings.episodes)
        self.algorithm = kind(config, self.actor, key=self.key.child("algorithm"))
        context = Context(
            task=self.task,
            model=self.actor.language,
            answer_rows=lambda answers: self.algorithm.agent(self.actor, True).answer_rows(answers),
        )
        self.terms, self.weights = compose.build(recipe.rewards, context)
        self.metrics = build_metrics(recipe.metrics, context)
        self.stopping = EarlyStopping(self.settings, self.metrics, self.weights, self.task.spec)
        self.updates = 0
        self._calibrated = -1
        self.growing = pool is not None
        self.experience: Experience = experience(
            Parts(
                recipe=recipe,
                source=source,
                task=self.task,
                actor=self.actor,
                algorithm=self.algorithm,
                pool=start.pool(self.task, self.settings) if pool is None else pool,
                terms=tuple(self.terms),
                weights=self.weights,
                key=self.key,
            )
        )
        if isinstance(self.actor, TurnNetwork) and self.actor.stop is not None and not self.growing:
            self._held_out()  # a split without rows is refused before anything is learned

    def update(self) -> dict[str, float]:
        """Make one update and return the logged values."""
        self.experience.seconds = {}
        logs = self.experience.update()
        self.updates += 1
        return {"update": self.updates, "episodes": self.experience.games, **logs}

    def calibrate(self) -> None:
        """Let the algorithm choose in all processes what only evaluation uses, once for an update."""
        if self._calibrated != self.updates and not self.growing:
            self._calibrated = self.updates
            parallel.order("calibrate")
            self.choose_on_held_out()

    def choose_on_held_out(self) -> None:
        """Let the algorithm choose on held-out rows what only evaluation uses, in this process."""
        self.algorithm.calibrate(self.actor, self._held_out, self.weights, self.settings.seed)

    def _held_out(self) -> Sequence[Row]:
        """The rows of evaluations in training."""
        settings = self.settings
        with identity.naming_split("evaluate_split", settings):
            return chosen_rows(self.task, settings.evaluate_split, settings.only)

    def evaluate(
        self, split: str, episodes: int, only: Record = EMPTY, *, by_row: bool = False
    ) -> Evaluation:
        """Evaluate the policy, with the decoding of evaluation; `by_row` keeps the values by row."""
        parallel.order("play", split=split, episodes=episodes, only=plain(only))
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
            by_row=by_row,
        )

    def play_held_out(self, split: str, episodes: int, only: Record) -> None:
        """Play this process's share of the episodes that the first process evaluates."""
        agent = self.algorithm.agent(self.actor, True)
        play_held_out(self.task, agent, split=split, episodes=episodes, seed=self.settings.seed, only=only)

    @property
    def decoding(self) -> str:
        """How the policy chooses its answers in evaluation."""
        return decoding_text(self.algorithm.agent(self.actor, True))

    def state(self) -> dict[str, Any]:
        """All that influences the future, except the policy's own weights."""
        return {
            **self._identity(),
            "counters": {"updates": self.updates, **self.stopping.state()},
            "experience": self.experience.state_dict(),
            "actor": self.actor.state_dict(),
            "algorithm": self.algorithm.state_dict(),
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
            self.updates = saved_state.count(counters, "updates", most=most)
            self.stopping.restore(counters, self.updates)
            self.experience.load_state_dict(saved_state.part(state, "experience"))
            self.restore_policy(state)

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
            "data": self.data,
        }
