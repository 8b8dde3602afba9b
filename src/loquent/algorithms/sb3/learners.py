"""Learners of Stable-Baselines3 in Loquent's training loop: double DQN, PPO, A2C, and of sb3-contrib MaskablePPO and TRPO.

They own their collecting: an update is so many actions in live games, with the library's learning in between. Everything the library
draws it draws inside `borrowed`, from a stream named by the number of actions so far; so between two updates no generator has a state
that matters, and what a run saves are tensors, counters and what was said in the live games. The library's zip is never written.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from loquent.adapters.table import Table
from loquent.agent import Agent
from loquent.agents.sb3 import Chooser
from loquent.algorithms.sb3 import actor as actors
from loquent.algorithms.sb3.actor import TurnActor
from loquent.algorithms.sb3.settings import A2CSettings, DoubleDQNSettings, PPOSettings, Shared, TRPOSettings
from loquent.algorithms.sb3.state import state_of, take_back
from loquent.episode import Episode
from loquent.errors import BadCheckpoint, LoquentError
from loquent.features.views import View, warm
from loquent.logged import Logged
from loquent.seeding import Key, borrowed
from loquent.task import Task

TOLD = {
    "n_updates": "", "std": "", "loss": "sb3/loss", "value": "sb3/value", "policy_gradient_loss": "sb3/policy_loss", "policy_loss": "sb3/policy_loss",
    "policy_objective": "sb3/objective", "value_loss": "sb3/value_loss", "entropy_loss": "sb3/entropy_loss", "approx_kl": "sb3/approx_kl",
    "kl_divergence_loss": "sb3/kl", "clip_fraction": "sb3/clip_fraction", "clip_range": "", "explained_variance": "sb3/explained_variance",
    "is_line_search_success": "sb3/line_search", "exploration_rate": "", "learning_rate": "", "clip_range_vf": "",
    "cloning_loss": "sb3/cloning_loss", "agreement": "sb3/agreement",
}  # fmt: skip

LOGGED = {
    "sb3/actions": Logged("actions", "actions so far, over all games"),
    "sb3/learning_rate": Logged("", "the optimizer's learning rate at the end of the update"),
    "sb3/exploration": Logged("share of actions", "double DQN: the share of random actions at the end of the update"),
    "sb3/loss": Logged("", "double DQN: the mean Huber loss. PPO: the whole loss of the last minibatch of each collection, a mean over them"),
    "sb3/value": Logged("reward per episode", "double DQN: the mean value of the remembered actions"),
    "sb3/policy_loss": Logged("", "PPO: the clipped surrogate, negated. A2C: advantage times log-probability, negated"),
    "sb3/objective": Logged("", "TRPO: the surrogate after the line search"),
    "sb3/value_loss": Logged("reward squared", "the squared error of the value"),
    "sb3/entropy_loss": Logged("nats", "the entropy of the policy, negated"),
    "sb3/approx_kl": Logged("nats", "PPO: (r - 1) - log r over the last epoch of each collection"),
    "sb3/kl": Logged("nats", "TRPO: KL from the policy before the step"),
    "sb3/clip_fraction": Logged("share of actions", "PPO: those whose ratio left the clipping range"),
    "sb3/explained_variance": Logged("", "1 - Var[return - value] / Var[return] of each collection, before it is learned from"),
    "sb3/line_search": Logged("share of steps", "TRPO: the steps that the line search took"),
}  # where nothing else is said, means over an update


class Learner:
    """What the five have in common; a child names its settings and the library's class."""

    Config: ClassVar[type]
    name: ClassVar[str]
    policy: ClassVar[str] = "MlpPolicy"  # the library's name of the network
    masked: ClassVar[bool] = False  # whether illegal actions are never chosen
    scored = False
    reads: ClassVar[tuple[str, ...]] = ("play",)
    unused: ClassVar[tuple[str, ...]] = ("model", "decoding", "evaluation")  # sections of a recipe that say nothing to it
    smoke: ClassVar[tuple[str, ...]] = ("algorithm.games=2", "algorithm.rollout=8", "algorithm.steps=16")  # of the profile of that name

    def __init__(self, config: Any, model: TurnActor, key: Key = Key(0)) -> None:  # noqa: B008 - a value
        self.config, self.actor, self.key = config, model, key
        self.table: Table | None = None
        self._callback: Any = None

    @classmethod
    def library(cls) -> type:
        """The library's class, imported when asked for."""
        raise NotImplementedError

    @classmethod
    def make_actor(cls, config: Shared, task: Task, key: Key) -> TurnActor:
        """The untrained network for a task."""
        actors.need()
        return actors.build(cls.name, cls.library(), cls.policy, config, task, key)

    def sit(self, table: Table, updates: int) -> None:
        """Begin to play at a table, for a run of so many updates: schedules run over all of them."""
        from stable_baselines3.common.logger import Logger

        if isinstance(self.actor.see, View) and self.actor.see.featurizer.batched:
            warm(table.task, self.actor.see, table.sampler.pool.rows, self.key.child("warm"))
        self.table = table
        self.actor.games.sit(table)
        model = self.actor.model
        model.set_logger(_means(Logger))
        model._last_obs = np.zeros((table.places, *model.observation_space.shape))  # so that no game is looked at yet: `play` does
        _, self._callback = model._setup_learn(updates * self.config.steps, reset_num_timesteps=False)

    def play(self) -> tuple[list[Episode], dict[str, float]]:
        """One update: `steps` actions with the learning in between. The games that ended, and what is logged.

        Raises:
            LoquentError: a loss is no longer finite.
        """
        model = self.actor.model
        assert self.table is not None
        if model._last_episode_starts is None:
            model._last_obs, model._last_episode_starts = self.actor.games.reset(), np.ones(self.table.places, dtype=bool)
        until = model.num_timesteps + self.config.steps
        key = self.key.child("update", model.num_timesteps)
        with borrowed(key):
            model.action_space.seed(key.child("actions").integer(31))
            while model.num_timesteps < until:
                self._cycle()
        logs = {TOLD[name]: value for name, value in model.logger.means().items() if TOLD[name]}
        logs |= {"sb3/actions": model.num_timesteps, "sb3/learning_rate": model.policy.optimizer.param_groups[0]["lr"]}
        if hasattr(model, "exploration_rate"):
            logs["sb3/exploration"] = model.exploration_rate
        if bad := [name for name, value in logs.items() if "loss" in name and not np.isfinite(value)]:
            raise LoquentError(f"{bad[0]} = {logs[bad[0]]}: training has diverged; a lower learning_rate may help")
        return self.table.take(), logs

    def agent(self, model: TurnActor, evaluating: bool) -> Agent:
        """The network as an agent: in evaluation its best action (or drawn, as `sampled` says), else as it explores."""
        explore = 0.0 if evaluating else getattr(model.model, "exploration_rate", 0.0)
        greedy = hasattr(model.model, "q_net") or (evaluating and not self.config.sampled)
        actions = model.games.actions
        return Chooser(self.name, lambda seen: actors.scores(model, seen, self.masked), greedy=greedy, actions=actions, explore=explore)

    def state_dict(self) -> dict[str, Any]:
        """What the network must fit, and where it sits at a table all that influences the future."""
        state: dict[str, Any] = {"fits": self._fits}
        if self.table is not None:
            state |= {"learner": state_of(self.actor.model), "table": self.table.state_dict()}
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave; without a table only what acting needs.

        Raises:
            BadCheckpoint: it was another network, or one that saw other things or had other actions.
        """
        if state["fits"] != self._fits:
            name = next(name for name in self._fits if state["fits"].get(name) != self._fits[name])
            raise BadCheckpoint(f"the {name} of the saved network was {state['fits'].get(name)!r:.200} and is {self._fits[name]!r:.200} now")
        if self.table is not None:
            take_back(self.actor.model, state["learner"])
            self.table.load_state_dict(state["table"])
            if state["table"]["games"]:
                self.actor.model._last_obs = self.actor.games.reset()

    @property
    def _fits(self) -> dict[str, Any]:
        return {name: value for name, value in self.actor.described.items() if name != "task"}

    def _cycle(self) -> None:
        """One collection and the learning after it, as the library's `learn` has them."""
        model, more = self.actor.model, {}
        if self.masked:
            more = {"use_masking": True}
        model.collect_rollouts(model.env, self._callback, model.rollout_buffer, n_rollout_steps=model.n_steps, **more)
        model._update_current_progress_remaining(model.num_timesteps, model._total_timesteps)
        model.train()


class DoubleDQN(Learner):
    """Double DQN: SB3's DQN whose next action is chosen by the learning network and valued by the target network."""

    Config = DoubleDQNSettings
    name = "sb3/double_dqn"
    smoke = ("algorithm.games=1", "algorithm.learn_every=1", "algorithm.steps=16", "algorithm.learning_starts=8")

    @classmethod
    def library(cls) -> type:
        from loquent.algorithms.sb3.double_dqn import DoubleDQN as Theirs

        return Theirs

    def _cycle(self) -> None:
        model = self.actor.model
        model.collect_rollouts(
            model.env, train_freq=model.train_freq, callback=self._callback, learning_starts=model.learning_starts, replay_buffer=model.replay_buffer
        )
        if model.num_timesteps > model.learning_starts:
            model.train(batch_size=model.batch_size, gradient_steps=model.gradient_steps)


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
    """TRPO of sb3-contrib: a natural-gradient step as long as the KL allows."""

    Config = TRPOSettings
    name = "sb3/trpo"
    smoke = (*Learner.smoke, "algorithm.minibatch=8")

    @classmethod
    def library(cls) -> type:
        from sb3_contrib import TRPO as Theirs

        return Theirs


def _means(logger: type) -> Any:
    """The library's logger, which keeps the last of several values, made to keep them all."""

    class Means(logger):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(folder=None, output_formats=[])
            self.seen: dict[str, list[float]] = {}

        def record(self, key: str, value: Any, exclude: Any = None) -> None:
            section, _, name = key.partition("/")
            if section == "train" and TOLD.get(name, ""):
                self.seen.setdefault(name, []).append(float(value))

        def means(self) -> dict[str, float]:
            """The mean of each since the last call."""
            found = {name: float(np.mean(values)) for name, values in self.seen.items()}
            self.seen.clear()
            return found

    return Means()
