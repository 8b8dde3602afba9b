"""Cloning among a task's actions, in rounds: DAgger (arXiv:1011.0686, algorithm 3.1).

In each round the learner plays, alone or in turns with a teacher, and the teacher names its action in every
state that was reached. The network learns these actions by cross-entropy over the legal ones, from the turns
of all rounds so far. Plain behavioural cloning learns only from states that the teacher itself reaches; where
the clone errs, it gets to others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch

from loquent.agents.turns import TurnAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.imitation.taught_turns import TaughtTurns
from loquent.algorithms.shared.turn_passes import whole_episodes
from loquent.core.agent import Agent
from loquent.core.algorithm import StepSettings, TurnAlgorithm
from loquent.core.seeding import Key
from loquent.core.settings import redefault, setting
from loquent.core.task import Row, Task
from loquent.core.values import Record
from loquent.files import saved_state
from loquent.models.tokens.turns import TurnBatch
from loquent.models.turns.building import build
from loquent.models.turns.settings import PolicySettings
from loquent.models.turns.turn_scores import logprob_of, outputs_of
from loquent.pretrained.learning.gradient_step import GradientStep, Loss
from loquent.pretrained.learning.optimization import Means, trainable
from loquent.pretrained.learning.stopping import calibrate, goal_loss
from loquent.pretrained.learning.turn_network import Head, TurnNetwork

START = Key(0, ("algorithm",))
PER_STEP = ("cloning/loss", "cloning/agreement", "gradient/norm")

LOGGED = logged_keys.BUILT_IN["turn_cloning"]


@dataclass(frozen=True, kw_only=True)
class Config(PolicySettings, StepSettings):
    """Settings of `turn_cloning`. An update is a round."""

    beta: float = setting(
        0.0,
        "p: in round i each action is the teacher's with probability p^(i - 1), else the learner's; 0: the "
        "teacher plays the first round and the learner the others; 1: the teacher plays all (behavioural "
        "cloning)",
        source="1011.0686 sec. 3",
        low=0.0,
        high=1.0,
    )
    epochs: int = setting(2, "passes over the turns of all rounds so far, in each round", low=1)
    minibatch: int = setting(128, "turns in one gradient step; whole episodes follow one another", low=1)
    learning_rate: float = redefault(StepSettings, "learning_rate", 1e-3)
    weight_decay: float = redefault(StepSettings, "weight_decay", 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.resolve_network()

    def steps_of_update(self, episodes: int) -> int:
        """0: the turns of the episodes decide how many gradient steps an update has."""
        return 0


class TurnCloning(TurnAlgorithm):
    """Cross-entropy on a teacher's actions in the states that the learner reaches.

    updates: rounds. turns: those of all rounds.
    """

    Config: ClassVar[type] = Config
    name = "turn_cloning"
    reads = ("expert",)
    experience = "lessons"
    smoke = ("algorithm.width=16", "algorithm.layers=1", "algorithm.heads=2", "algorithm.minibatch=16")

    def __init__(self, config: Any, model: TurnNetwork, *, key: Key = START) -> None:
        self.config, self.key, self.actor = config, key, model
        modules = (model.policy,) if model.dropout else ()
        self.gradient = GradientStep(trainable(policy=model.policy), config, key, modules)
        self.auxiliary = model.auxiliary(key)
        self.turns: TaughtTurns | None = None
        self.updates = 0

    @classmethod
    def make_actor(cls, config: Any, task: Task, key: Key) -> TurnNetwork:
        """The untrained network for a task."""
        return build(cls.name, task, config, key, Head())

    @property
    def teacher_share(self) -> float:
        """The probability that an action of the next round is the teacher's."""
        return float(self.config.beta**self.updates)

    def agent(self, model: TurnNetwork, evaluating: bool) -> Agent:
        """The network as an agent: in evaluation the best action, or with `sampled` a drawn one.

        In training actions are drawn.
        """
        if not evaluating:
            model.warm()
        return TurnAgent(self.name, model, greedy=evaluating and not self.config.sampled)

    def calibrate(
        self, model: TurnNetwork, rows: Callable[[], Sequence[Row]], weights: Record, seed: int
    ) -> None:
        """Choose the threshold of the stop head on held-out rows."""
        calibrate(model, self.config, rows, weights, seed)

    def read_episodes(self, episodes: Any, rows: Any) -> None:
        """Let the network read what it learns besides its choices."""
        self.auxiliary.collect(episodes, rows)

    def prepare(self, batch: TurnBatch) -> TaughtTurns:
        """The turns with their legal actions; `choice` is the teacher's."""
        return TaughtTurns.of(self.actor, batch)

    def update(self, model: TurnNetwork, batch: TaughtTurns) -> dict[str, float]:
        """Add the turns of a round and learn from all; returns means over the gradient steps."""
        share, means, before = self.teacher_share, Means(), self.gradient.steps
        self.turns = turns = batch if self.turns is None else self.turns.join(batch)
        for epoch in range(self.config.epochs):
            key = self.key.child("minibatches", self.updates, epoch)
            for rows in whole_episodes(turns.episode, self.config.minibatch, key):
                self._learn(model, turns.take(rows), means)
        self.auxiliary.learn(self.gradient, means)
        self.updates += 1
        return {
            **dict.fromkeys(PER_STEP, math.nan),
            **self.auxiliary.log_values(),
            **model.stop_values(),
            **means.log_values(),
            "cloning/teacher_share": share,
            "cloning/turns": float(len(turns)),
            "gradient/steps": float(self.gradient.steps - before),
            "learning_rate": self.gradient.rate,
        }

    def loss(self, model: TurnNetwork, turns: TaughtTurns) -> dict[str, torch.Tensor]:
        """-log π(teacher's action) as "cloning/loss" f[N], and whether it is the network's best action.

        A stop head has a loss of its own, and a `stop` of the teacher is none of the policy: the head agrees
        where it finds the goal more probable than not exactly if the teacher stops.
        """
        device = model.device
        features = {name: array.to(device) for name, array in turns.features.items()}
        choice = turns.choice.to(device)
        chosen, _, likely = outputs_of(model, features, turns.legality(model))
        agrees, stopping = chosen.is_best(choice), {}
        if likely is not None:
            assert turns.goal is not None
            goal = turns.goal.to(device)
            stopping = {"stop/loss": goal_loss(likely, goal), "stop/goal": goal}
            agrees = agrees & ((likely >= 0) == (choice == model.stop))
        return {
            "cloning/loss": -logprob_of(chosen, choice),
            "cloning/agreement": agrees.float(),
            **stopping,
        }

    def state_dict(self) -> dict[str, Any]:
        """The optimizer, the turns of all rounds, their number, and what the network fits."""
        return {
            "fits": self.actor.signature,
            **self.gradient.state_dict(),
            "auxiliary": self.auxiliary.state_dict(),
            "turns": None if self.turns is None else self.turns.state_dict(),
            "legend": [] if self.turns is None else list(self.actor.legend),
            "updates": self.updates,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state from `state_dict`.

        Raises:
            BadCheckpoint: it is from a network with other inputs, actions or layers.
        """
        self.actor.check_fits(saved_state.part(state, "fits"))
        self.gradient.load_state_dict(state)
        self.auxiliary.load_state_dict(saved_state.part(state, "auxiliary"))
        turns = saved_state.field(state, "turns")
        self.turns = None
        if turns is not None:
            kept, legend = (
                TaughtTurns.restore(saved_state.part(state, "turns")),
                saved_state.items(state, "legend"),
            )
            self.turns = replace(kept, features=self.actor.renumber(kept.features, legend))
        self.updates = saved_state.count(state, "updates")

    def _learn(self, model: TurnNetwork, minibatch: TaughtTurns, means: Means) -> None:
        """One gradient step on a minibatch."""

        def loss(part: TaughtTurns) -> Loss:
            logged = self.loss(model, part)
            total = logged["cloning/loss"]
            if "stop/loss" in logged:
                total = total + self.config.stop_weight * logged["stop/loss"]
            return Loss(total.sum(), logged)

        norm = self.gradient.learn(minibatch, loss, means, divisor=len(minibatch))
        means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
