"""What the learners from preferences share: whole answers in gradient steps, without dropout.

A preference is two answers to one row, of which one has the higher return. An episode of many turns is one
answer: its return is that of the whole episode, and all its action tokens count.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms.policy_gradient.episode_groups import episodes_of
from loquent.algorithms.policy_gradient.on_policy import START, of
from loquent.algorithms.preference import pairs
from loquent.algorithms.preference.pairs import Units, pairs_of, returns_of
from loquent.core.algorithm import BatchAlgorithm, StepSettings
from loquent.core.seeding import Key
from loquent.core.settings import redefault, setting
from loquent.errors import BadSetting, LoquentError
from loquent.models.actor import Actor
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.learning.gradient_step import GradientStep, Loss, Stepping
from loquent.pretrained.learning.optimization import Means, Parameters, minibatches, trainable

LossOfPart = Callable[[Units], Loss]


@dataclass(frozen=True, kw_only=True)
class PreferenceConfig(StepSettings):
    """The settings of learners from preferences."""

    learning_rate: float = redefault(
        StepSettings,
        "learning_rate",
        1e-6,
        source="2305.18290 app. B; TRL",
        why="peak learning rate; 1e-4 suits small models trained from scratch",
    )
    beta: float = setting(0.1, "β", low=0.0)
    epochs: int = setting(1, "passes over the answers of one update", low=1)
    minibatch: int | None = setting(
        None, "answers in one gradient step, two of each pair; none: all of the update", low=2
    )
    token_budget: int = setting(
        8192, "padded tokens in one forward pass; affects memory and speed, not the gradient", low=1
    )

    def steps_of_update(self, episodes: int) -> int:
        """One step per epoch without `minibatch`; with it 0, as returns decide how many pairs there are."""
        return self.epochs if self.minibatch is None else 0


@dataclass(frozen=True, kw_only=True)
class PairsConfig(PreferenceConfig):
    """The settings of learners from pairs."""

    pairs: str = setting(
        "best_worst",
        "pairs of answers to one row: the best and the worst by return, or each two with different returns",
        choices=pairs.KINDS,
    )


class PreferenceLearner(Stepping, BatchAlgorithm):
    """Base of the learners from preferences, on the policy of an `Actor`."""

    scored = True
    reads: ClassVar[tuple[str, ...]] = ("data", "expert")
    least_answers = 2
    cuts_answers = True
    unused_of_model: ClassVar[tuple[str, ...]] = ("critic", "lora.dropout")
    per_step: ClassVar[tuple[str, ...]] = ("preference/loss", "gradient/norm")
    """The logged values of gradient steps, which are nan in an update without any."""

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        if self.scored and model.reference is None:
            raise BadSetting(
                f"model.reference = 'none', but {self.name} compares the policy with a reference; set "
                "model.reference to 'copy', or to a model"
            )
        self.config, self.key = config, key
        self.gradient = GradientStep(self.learned_parameters(model), config, key)
        self.updates = 0

    def learned_parameters(self, model: Actor) -> Parameters:
        """The parameters of the policy."""
        return trainable(policy=model.policy)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, with the decoding of collection or of evaluation."""
        return LanguageModelAgent.of(model, evaluating, self.updates, name=self.name)

    @abstractmethod
    def units(self, batch: TokenBatch) -> Units:
        """The units that the loss compares, such as pairs."""

    @abstractmethod
    def loss(self, model: Actor, minibatch: Units) -> LossOfPart:
        """The loss of each part of a minibatch: the sum over its units, and logged numbers of each unit."""

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The rows of the episodes that are compared, with `unpaired`, the number of the others; pure.

        A batch without anything to compare keeps all rows.

        Raises:
            LoquentError: the batch has no groups or no reference log-probabilities.
        """
        if self.scored and batch.reference_logprob is None:
            raise LoquentError(
                f"the batch has no reference_logprob, which {self.name} compares the policy with; call score "
                "with an actor that has a reference"
            )
        units = self.units(replace(batch, support=None))
        if len(units):
            return pairs.only_members(units)
        return replace(units.batch, unpaired=batch.unpaired + len(batch.episode.unique()))

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over one prepared batch; returns means over the whole update, weighted by units."""
        model.eval()  # no dropout, so that an unchanged policy equals its reference
        units, means, before = self.units(batch), Means(), self.gradient.steps
        answers = self.config.minibatch or units.members.numel()
        size = max(1, answers // units.members.shape[1])
        for epoch in range(self.config.epochs if len(units) else 0):
            key = self.key.child("minibatches", self.updates, epoch)
            for chosen in minibatches(torch.arange(len(units)), size, key):
                norm = self._learn(model, units.take(chosen.sort().values), means)
                means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
        self.updates += 1
        return {
            **dict.fromkeys(self.per_step, math.nan),
            **means.log_values(),
            "preference/compared": float(len(units)),
            "preference/left_out": float(batch.unpaired),
            "gradient/steps": float(self.gradient.steps - before),
            "learning_rate": self.gradient.rate,
        }

    def _learn(self, model: Actor, minibatch: Units, means: Means) -> float | None:
        """One gradient step on a minibatch; returns the norm of its gradient."""
        return self.gradient.learn(
            minibatch,
            self.loss(model, minibatch),
            means,
            passes=lambda own: (part.to(model.device) for part in own.parts(self.config.token_budget)),
            divisor=len(minibatch),
        )


class PairLearner(PreferenceLearner):
    """Base of the learners from pairs of a chosen and a rejected answer."""

    per_step: ClassVar[tuple[str, ...]] = (
        "preference/loss",
        "preference/accuracy",
        "preference/margin",
        "preference/chosen",
        "preference/rejected",
        "gradient/norm",
    )

    def units(self, batch: TokenBatch) -> Units:
        """The pairs of a batch."""
        episodes = episodes_of(batch)
        return Units(batch, pairs_of(returns_of(batch, episodes), episodes.group, self.config.pairs))


def log_ratios(model: Actor, part: Units) -> Float[Tensor, "U M"]:
    """log π(y|x) - log π_ref(y|x) of each answer, in one forward pass of the policy."""
    reference = of(part.batch.reference_logprob, part.batch.is_action)
    return part.sums(logprobs(model, part.batch) - reference)


def logprobs(model: Actor, batch: TokenBatch) -> Float[Tensor, " N"]:
    """log π of each action token, by the full softmax."""
    return action_scores(model.policy, batch, support=False, entropy=False).policy


def rewards_of(rewards: Float[Tensor, "P 2"]) -> dict[str, Tensor]:
    """The logged values of the implicit rewards of pairs."""
    chosen, rejected = rewards.detach().unbind(1)
    return {
        "preference/chosen": chosen,
        "preference/rejected": rejected,
        "preference/margin": chosen - rejected,
        "preference/accuracy": (chosen > rejected).double(),
    }
