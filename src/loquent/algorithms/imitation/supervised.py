"""Supervised learning: cross-entropy on an expert's answers, or on all tokens.

The loss on all tokens trains a language model from scratch.

Reference texts are an expert's answers, so imitation, fine-tuning and pretraining are one learner. Dropout is
on in gradient steps only; it draws from the run's key.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.core.algorithm import BatchAlgorithm, StepSettings
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.errors import LoquentError
from loquent.models.actor import Actor
from loquent.models.score.tokens import micro_batches, weighted_nll
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.footprint import products
from loquent.pretrained.learning.gradient_step import GradientStep, Loss, Stepping
from loquent.pretrained.learning.optimization import Means, Parameters, minibatches, trainable

LOGGED = logged_keys.BUILT_IN["supervised"]
MOST_NATS = 700.0  # exp of more is no float


@dataclass(frozen=True, kw_only=True)
class Config(StepSettings):
    """Settings of `supervised`."""

    learn_on: str = setting(
        "answer",
        "the expert's tokens, or all tokens, prompts included, to train a language model",
        choices=("answer", "all"),
    )
    epochs: int = setting(1, "passes over one batch of episodes", low=1)
    minibatch: int = setting(64, "episodes in one gradient step", source="2210.01241 sec. B.3.1", low=1)
    token_budget: int = setting(
        8192, "padded tokens in one forward pass; affects memory and speed, not the gradient", low=1
    )


class Supervised(Stepping, BatchAlgorithm):
    """Cross-entropy on the policy of an `Actor`; its critic and reference do not change."""

    Config: ClassVar[type] = Config
    name = "supervised"
    reads: ClassVar[tuple[str, ...]] = ("expert", "data")
    unused_of_model = ("critic", "reference")
    cuts_answers = True  # each token counts on its own

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        self.config, self.key = config, key
        self.gradient = GradientStep(self.learned_parameters(model), config, key, (model.policy,))
        self.updates = 0

    def learned_parameters(self, model: Actor) -> Parameters:
        """The parameters of the actor that learn, by name."""
        return trainable(policy=model.policy)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy. Episodes for training are played by an expert instead."""
        return LanguageModelAgent.of(model, evaluating, self.updates, name=self.name)

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch with `is_action` true on the learned tokens only; pure."""
        if self.config.learn_on == "answer":
            return replace(batch, support=None)
        return replace(batch, is_action=every_token(batch), support=None)

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over one prepared batch, with dropout.

        Returns means over the whole update, weighted by tokens.
        """
        rows = batch.is_action.any(1).nonzero().flatten()
        if not len(rows):
            raise LoquentError("the batch has no token to learn from; give episodes with at least one answer")
        means, before = Means(), self.gradient.steps
        for epoch in range(self.config.epochs):
            key = self.key.child("minibatches", self.updates, epoch)
            for chosen in minibatches(rows, self.config.minibatch, key):
                norm = self._learn(model, batch.take(chosen), means)
                means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
        self.updates += 1
        progress = {
            "gradient/steps": float(self.gradient.steps - before),
            "learning_rate": self.gradient.rate,
        }
        return {**means.log_values(), "supervised/tokens": float(batch.is_action.sum()), **progress}

    def prepare_held_out(self, batch: TokenBatch) -> TokenBatch:
        """`prepare` for held-out episodes, all of which are kept; pure."""
        return self.prepare(batch)

    @torch.no_grad()
    def held_out_loss(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """The mean negative log-likelihood of the learned tokens of a prepared batch, and the perplexity.

        Without dropout, each token counts once: loss = -Σ log π(x_t) / N in nats, perplexity = exp(loss).
        """
        total, count = 0.0, int(batch.is_action.sum())
        batch = batch.take(batch.is_action.any(1).nonzero().flatten())
        with products(model.policy):
            for rows in micro_batches(batch, self.config.token_budget):
                _, nll = self._nll(model, batch.take(rows).to(model.device))
                total += float(nll.double().sum())
        loss = total / count
        perplexity = math.exp(loss) if loss < MOST_NATS else math.inf
        return {"supervised/held_out_loss": loss, "supervised/held_out_perplexity": perplexity}

    def _learn(self, model: Actor, minibatch: TokenBatch, means: Means) -> float | None:
        """One gradient step on a minibatch; returns the norm of its gradient."""

        def loss(part: TokenBatch) -> Loss:
            total, nll = self._nll(model, part)
            return Loss(total, {"supervised/loss": nll})

        return self.gradient.learn(
            minibatch,
            loss,
            means,
            passes=lambda own: (
                own.take(rows).to(model.device) for rows in micro_batches(own, self.config.token_budget)
            ),
            divisor=int(minibatch.is_action.sum()),
        )

    def _nll(self, model: Actor, batch: TokenBatch) -> tuple[Float[Tensor, ""], Float[Tensor, " N"]]:
        """The summed negative log-likelihood, and that of each token without a gradient."""
        return weighted_nll(model.policy, batch)


def every_token(batch: TokenBatch) -> Bool[Tensor, "B T"]:
    """Which tokens a language model can learn: all that have a state before them."""
    learned = batch.real.clone()
    learned[:, 0] = False  # no state precedes the first token
    learned &= batch.tokens >= 0  # an encoder reads the others,
    learned[:, 1:] &= batch.tokens[:, :-1] >= 0  # and no state precedes the decoder's first token
    return learned
