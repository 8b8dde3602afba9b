"""Advantage actor-critic for QA-DQN's network (arXiv:1908.10449 sec. 4.3.1), on batches of turns.

The heads of commands and queries are the logits of a policy, and a critic stands beside them. The advantage
of a command is its discounted return to the end of the episode, minus the critic's value. A gradient step
reads all turns of an update once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from loquent.agents.asking import Asker
from loquent.algorithms import logged_keys
from loquent.algorithms.asking.answers import Answers
from loquent.algorithms.asking.dqn import check_fits
from loquent.algorithms.asking.settings import A2CSettings
from loquent.core.agent import Agent
from loquent.core.algorithm import TurnAlgorithm
from loquent.core.episode import Episode
from loquent.core.seeding import Key
from loquent.core.task import Row, Task
from loquent.files import saved_state
from loquent.models.asking.actor import AskingActor
from loquent.models.asking.network import log_probabilities
from loquent.models.tokens.turns import TurnBatch
from loquent.pretrained.learning.gradient_step import GradientStep, Loss
from loquent.pretrained.learning.optimization import Means, lazy_adamw, trainable

START = Key(0, ("algorithm",))
PER_STEP = ("policy/loss", "policy/entropy", "critic/loss", "answer/loss", "gradient/norm")
LOGGED = logged_keys.QA_A2C


@dataclass(frozen=True, eq=False)
class Commands:
    """The commands of an update: what the network reads, the actions, and their discounted returns."""

    features: dict[str, Tensor]
    choice: Int[Tensor, " N"]
    returns: Float[Tensor, " N"]

    def __len__(self) -> int:
        return len(self.choice)


class QAA2C(TurnAlgorithm):
    """A2C on the network of an `AskingActor` with a critic."""

    Config: ClassVar[type] = A2CSettings
    name = "qa_a2c"
    reads = ("play",)
    smoke = ("algorithm.width=8", "algorithm.blocks=1")

    def __init__(self, config: Any, model: AskingActor, *, key: Key = START) -> None:
        self.config, self.key, self.actor = config, key, model
        self.gradient = GradientStep(
            trainable(policy=model.policy), config, key, (model.policy,), make=lazy_adamw
        )
        self.answers = Answers(config.answer_replay, model.inputs.sentences)
        self.answered = 0

    @classmethod
    def make_actor(cls, config: Any, task: Task, key: Key) -> AskingActor:
        """The untrained network for a task."""
        return AskingActor(task, config, key, critic=True)

    def agent(self, model: AskingActor, evaluating: bool) -> Agent:
        """The network as an agent: in evaluation the most probable command, in training a drawn one."""
        return Asker(self.name, model, greedy=evaluating)

    def collected(self, episodes: Sequence[Episode], rows: Mapping[str, Row]) -> None:
        """Keep the final memories that hold an answer."""
        if self.config.answers:
            self.answers.collect(self.actor, episodes, rows)

    def prepare(self, batch: TurnBatch) -> Commands:
        """The commands of the turns with their returns; the reward of an answer belongs to the last command.

        Pure. An episode that has not ended has the critic's value after its last turn.
        """
        command = np.array([legal != () for legal in batch.legal])
        returns, following, discount = np.zeros(len(batch)), 0.0, self.config.gamma
        for i in reversed(range(len(batch))):
            if i + 1 == len(batch) or batch.episode[i] != batch.episode[i + 1]:
                following = 0.0 if batch.ended[i] else self._value(batch, i)
                discount = self.config.gamma
            following = returns[i] = float(batch.reward[i]) + discount * following
            discount = self.config.gamma if command[i] else 1.0  # an answer is no step of its own
        return Commands(
            {name: torch.from_numpy(array[command]) for name, array in batch.features.items()},
            torch.from_numpy(batch.choice[command]),
            torch.from_numpy(returns[command]).float(),
        )

    def update(self, model: AskingActor, batch: Commands) -> dict[str, float]:
        """One gradient step of policy and critic, and one of the pointers."""
        means = Means()

        def loss(part: Commands) -> Loss:
            measured = self.loss(model, part)
            return Loss(measured.pop("total").sum(), measured)

        norm = self.gradient.learn(batch, loss, means, divisor=len(batch))
        means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
        if self.config.answers and len(self.answers):
            key = self.key.child("answers", self.answered)
            self.answers.learn(self.actor, self.gradient, self.config.answers, key, means)
            self.answered += 1
        return {
            **dict.fromkeys(PER_STEP, math.nan),
            **means.logged(),
            "turns": float(len(batch)),
            "answer/replay": float(len(self.answers)),
            "learning_rate": self.gradient.rate,
        }

    def loss(self, model: AskingActor, batch: Commands) -> dict[str, Float[Tensor, " N"]]:
        """The loss of each command as "total", and its parts."""
        device, config = model.device, self.config
        scores = model.policy(model.inputs.of_arrays(batch.features).to(device))
        logprob = log_probabilities(scores)
        chosen = logprob.gather(1, batch.choice.to(device)[:, None])[:, 0]
        possible = logprob.isfinite()
        entropy = -(logprob.exp() * logprob.where(possible, 0.0)).where(possible, 0.0).sum(1)
        returns = batch.returns.to(device)
        policy = -chosen * (returns - scores.value).detach()
        critic = (scores.value - returns) ** 2
        total = policy + config.value_coefficient * critic - config.entropy_coefficient * entropy
        return {
            "total": total,
            "policy/loss": policy,
            "policy/entropy": entropy,
            "critic/loss": critic,
        }

    def state_dict(self) -> dict[str, Any]:
        """The optimizer, the memories with answers, the counter, and what the network fits."""
        return {
            "fits": self.actor.described,
            **self.gradient.state_dict(),
            "answers": self.answers.state_dict(),
            "answered": self.answered,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it is of another network."""
        check_fits(self.actor.described, saved_state.part(state, "fits"))
        self.gradient.load_state_dict(state)
        self.answers.load_state_dict(saved_state.part(state, "answers"))
        self.answered = saved_state.count(state, "answered")

    @torch.no_grad()
    def _value(self, batch: TurnBatch, row: int) -> float:
        """The critic's value of what follows a turn."""
        features = {
            name: torch.from_numpy(array[row : row + 1]) for name, array in batch.next_features.items()
        }
        scores = self.actor.policy(self.actor.inputs.of_arrays(features).to(self.actor.device))
        return float(scores.value[0])
