"""Learners of Stable-Baselines3 in Loquent's training loop: double DQN, PPO and A2C.

MaskablePPO and TRPO are from sb3-contrib.

They collect their own episodes: an update is a number of actions in live games, with the library's learning
in between. The library draws random numbers inside `borrow_generators` only, from a stream keyed by the
number of actions so far. Therefore no generator has a state between updates, and a run saves tensors,
counters and the live games. It never writes the library's zip file.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from loquent.adapters.table import Table
from loquent.agents.sb3 import Chooser
from loquent.algorithms import logged_keys
from loquent.algorithms.sb3 import actor as actors
from loquent.algorithms.sb3 import private_names
from loquent.algorithms.sb3.actor import TurnActor
from loquent.algorithms.sb3.settings import A2CSettings, DoubleDQNSettings, PPOSettings, Shared, TRPOSettings
from loquent.algorithms.sb3.state import restore, state_of
from loquent.core.agent import Agent
from loquent.core.algorithm import Playing
from loquent.core.episode import Episode
from loquent.core.seeding import Key, borrow_generators
from loquent.core.task import Task
from loquent.data.features.views import View, warm
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files.machine.memory import bytes_of_arrays

LOG_KEYS = {
    "n_updates": "",
    "std": "",
    "loss": "sb3/loss",
    "value": "sb3/value",
    "policy_gradient_loss": "sb3/policy_loss",
    "policy_loss": "sb3/policy_loss",
    "policy_objective": "sb3/objective",
    "value_loss": "sb3/value_loss",
    "entropy_loss": "sb3/entropy_loss",
    "approx_kl": "sb3/approx_kl",
    "kl_divergence_loss": "sb3/kl",
    "clip_fraction": "sb3/clip_fraction",
    "clip_range": "",
    "explained_variance": "sb3/explained_variance",
    "is_line_search_success": "sb3/line_search",
    "exploration_rate": "",
    "learning_rate": "",
    "clip_range_vf": "",
    "cloning_loss": "sb3/cloning_loss",
    "agreement": "sb3/agreement",
}

# means over an update, unless stated otherwise
LOGGED = logged_keys.BUILT_IN["sb3/ppo"]


class Learner(Playing):
    """Base of these learners; a child defines its settings and the library's class."""

    policy: ClassVar[str] = "MlpPolicy"  # the library's name of the network
    masked: ClassVar[bool] = False  # whether illegal actions are never chosen
    reads = ("play",)
    single_process = True
    unused = ("model", "decoding", "evaluation")
    smoke: ClassVar[tuple[str, ...]] = ("algorithm.games=2", "algorithm.rollout=8", "algorithm.steps=16")

    def __init__(self, config: Any, model: TurnActor, key: Key = Key(0)) -> None:  # noqa: B008 - a value
        self.config, self.actor, self.key = config, model, key
        self.table: Table | None = None
        self._callback: Any = None

    @classmethod
    def library(cls) -> type:
        """The library's class, imported on the first call."""
        raise NotImplementedError

    @classmethod
    def make_actor(cls, config: Shared, task: Task, key: Key) -> TurnActor:
        """The untrained network for a task."""
        actors.need()
        return actors.build(cls.name, cls.library(), cls.policy, config, task, key)

    def sit(self, table: Table, updates: int) -> None:
        """Start to play at a table; schedules run over all `updates`."""
        from stable_baselines3.common.logger import Logger

        if isinstance(self.actor.view, View) and self.actor.view.featurizer.batched:
            warm(table.task, self.actor.view, table.sampler.pool.rows, self.key.child("warm"))
        self.table = table
        self.actor.games.attach(table)
        model = self.actor.model
        model.set_logger(_means(Logger))
        # a placeholder: `play` reads the games
        private_names.set_observations(model, np.zeros((table.places, *model.observation_space.shape)))
        self._callback = private_names.begin(model, updates * self.config.steps)

    def play(self) -> tuple[list[Episode], dict[str, float]]:
        """One update: `steps` actions with learning in between.

        Returns the finished episodes and the logged values.

        Raises:
            LoquentError: a loss is not finite.
        """
        model = self.actor.model
        assert self.table is not None
        if private_names.episode_starts(model) is None:
            private_names.set_observations(model, self.actor.games.reset())
            private_names.set_episode_starts(model, np.ones(self.table.places, dtype=bool))
        until = model.num_timesteps + self.config.steps
        key = self.key.child("update", model.num_timesteps)
        with borrow_generators(key):
            model.action_space.seed(key.child("actions").integer(31))
            while model.num_timesteps < until:
                self._cycle()
        logs = {LOG_KEYS[name]: value for name, value in model.logger.means().items() if LOG_KEYS[name]}
        logs |= {
            "sb3/actions": model.num_timesteps,
            "sb3/learning_rate": model.policy.optimizer.param_groups[0]["lr"],
        }
        if hasattr(model, "exploration_rate"):
            logs["sb3/exploration"] = model.exploration_rate
        if bad := [name for name, value in logs.items() if "loss" in name and not np.isfinite(value)]:
            raise LoquentError(f"{bad[0]} = {logs[bad[0]]}: training has diverged; try a lower learning_rate")
        return self.table.take(), logs

    def agent(self, model: TurnActor, evaluating: bool) -> Agent:
        """The network as an agent: in evaluation the best action, or with `sampled` a drawn one.

        In training it explores.
        """
        explore = 0.0 if evaluating else getattr(model.model, "exploration_rate", 0.0)
        greedy = hasattr(model.model, "q_net") or (evaluating and not self.config.sampled)
        actions = model.games.actions
        return Chooser(
            self.name,
            partial(actors.scores, model, masked=self.masked),
            greedy=greedy,
            actions=actions,
            explore=explore,
        )

    @property
    def network(self) -> Any:
        """The library's policy."""
        return self.actor.model.policy

    @property
    def width(self) -> int:
        """The numbers in one observation."""
        return int(np.prod(self.actor.model.observation_space.shape))

    def buffer_bytes(self) -> dict[str, int]:
        """The bytes of the library's full replay and collection."""
        buffers = {"replay": "replay_buffer", "collection": "rollout_buffer"}
        return {
            name: bytes_of_arrays(getattr(self.actor.model, buffer, None)) for name, buffer in buffers.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """The description of the network, and at a table everything that affects later updates."""
        state: dict[str, Any] = {"fits": self._fits}
        if self.table is not None:
            state |= {"learner": state_of(self.actor.model), "table": self.table.state_dict()}
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state from `state_dict`; without a table only check the network.

        Raises:
            BadCheckpoint: the network, its view or its actions differ.
        """
        if state["fits"] != self._fits:
            name = next(name for name in self._fits if state["fits"].get(name) != self._fits[name])
            problem = (
                f"the {name} of the saved network was {state['fits'].get(name)!r:.200} and is "
                f"{self._fits[name]!r:.200} now"
            )
            raise BadCheckpoint(f"{problem}; use the recipe of the run")
        if self.table is not None:
            restore(self.actor.model, state["learner"])
            self.table.load_state_dict(state["table"])
            if state["table"]["games"]:
                private_names.set_observations(self.actor.model, self.actor.games.reset())

    @property
    def _fits(self) -> dict[str, Any]:
        return {name: value for name, value in self.actor.signature.items() if name != "task"}

    def _cycle(self) -> None:
        """One collection and learning from it, as in the library's `learn`."""
        model = self.actor.model
        options = {"use_masking": True} if self.masked else {}
        model.collect_rollouts(
            model.env, self._callback, model.rollout_buffer, n_rollout_steps=model.n_steps, **options
        )
        private_names.update_progress(model)
        model.train()


class DoubleDQN(Learner):
    """Double DQN: the online network chooses the next action and the target network values it.

    The rest is DQN of Stable-Baselines3.
    """

    Config = DoubleDQNSettings
    name = "sb3/double_dqn"
    smoke = (
        "algorithm.games=1",
        "algorithm.learn_every=1",
        "algorithm.steps=16",
        "algorithm.learning_starts=8",
    )

    @classmethod
    def library(cls) -> type:
        from loquent.algorithms.sb3.double_dqn import DoubleDQN as Theirs

        return Theirs

    def _cycle(self) -> None:
        model = self.actor.model
        model.collect_rollouts(
            model.env,
            train_freq=model.train_freq,
            callback=self._callback,
            learning_starts=model.learning_starts,
            replay_buffer=model.replay_buffer,
        )
        if model.num_timesteps > model.learning_starts:
            model.train(batch_size=model.batch_size, gradient_steps=model.gradient_steps)


class MaskableDoubleDQN(DoubleDQN):
    """Double DQN that never chooses an illegal action: in acting, in exploration, and in the target."""

    name = "sb3/maskable_double_dqn"
    masked = True

    @classmethod
    def library(cls) -> type:
        from loquent.algorithms.sb3.maskable_double_dqn import MaskableDoubleDQN as Theirs

        return Theirs


class PPO(Learner):
    """PPO of Stable-Baselines3 over the actions of turns."""

    Config = PPOSettings
    name = "sb3/ppo"
    smoke = (*Learner.smoke, "algorithm.minibatch=8")

    @classmethod
    def library(cls) -> type:
        from stable_baselines3 import PPO as Theirs

        return Theirs


class A2C(Learner):
    """A2C of Stable-Baselines3: one gradient step after a few actions of each game."""

    Config = A2CSettings
    name = "sb3/a2c"

    @classmethod
    def library(cls) -> type:
        from stable_baselines3 import A2C as Theirs

        return Theirs


class MaskablePPO(Learner):
    """MaskablePPO of sb3-contrib: PPO that never chooses an illegal action."""

    Config = PPOSettings
    name = "sb3/maskable_ppo"
    masked = True
    smoke = (*Learner.smoke, "algorithm.minibatch=8")

    @classmethod
    def library(cls) -> type:
        from sb3_contrib import MaskablePPO as Theirs

        return Theirs


class TRPO(Learner):
    """TRPO of sb3-contrib: natural-gradient steps bounded by the KL."""

    Config = TRPOSettings
    name = "sb3/trpo"
    smoke = (*Learner.smoke, "algorithm.minibatch=8")

    @classmethod
    def library(cls) -> type:
        from sb3_contrib import TRPO as Theirs

        return Theirs


def _means(logger: type) -> Any:
    """The library's logger, changed to keep all values instead of the last."""

    class Means(logger):  # type: ignore[misc]  # the class is known at run time
        def __init__(self) -> None:
            super().__init__(folder=None, output_formats=[])
            self.values: dict[str, list[float]] = {}

        def record(self, key: str, value: Any, exclude: Any = None) -> None:
            section, _, name = key.partition("/")
            if section == "train" and LOG_KEYS.get(name, ""):
                self.values.setdefault(name, []).append(float(value))

        def means(self) -> dict[str, float]:
            """The mean of each value since the last call."""
            means = {name: float(np.mean(values)) for name, values in self.values.items()}
            self.values.clear()
            return means

    return Means()
