"""Supervised learning: cross-entropy on an expert's answers, or on all tokens.

The loss on all tokens trains a language model from scratch.

Reference texts are an expert's answers, so imitation, fine-tuning and pretraining are one learner. Dropout is
on in gradient steps only; it draws from the run's key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.algorithms.shared.optimization import (
    Means,
    adamw,
    clip_gradients,
    load_by_name,
    minibatches,
    state_by_name,
    trainable,
)
from loquent.algorithms.shared.schedule import ScheduleConfig, step_size
from loquent.core.algorithm import BatchAlgorithm
from loquent.core.seeding import Key, borrowed
from loquent.core.settings import setting
from loquent.errors import LoquentError
from loquent.files import saved_state
from loquent.machine import parallel
from loquent.models.actor import Actor
from loquent.models.score.tokens import micro_batches, weighted_nll
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained import dropping

LOGGED = logged_keys.SUPERVISED


@dataclass(frozen=True, kw_only=True)
class Config(ScheduleConfig):
    """Settings of `supervised`."""

    learn_on: str = setting(
        "answer",
        "the expert's tokens, or all tokens, prompts included, to train a language model",
        choices=("answer", "all"),
    )
    epochs: int = setting(1, "passes over one batch of episodes", low=1)
    minibatch: int = setting(64, "episodes in one gradient step", source="2210.01241 sec. B.3.1", low=1)
    weight_decay: float = setting(
        0.01, "weight decay of AdamW, on matrices only", source="1711.05101, PyTorch's default", low=0.0
    )
    max_grad_norm: float | None = setting(
        1.0, "largest norm of the gradient; none: no clipping", source="transformers, Trainer", low=0.0
    )
    token_budget: int = setting(
        8192, "padded tokens in one forward pass; affects memory and speed, not the gradient", low=1
    )


class Supervised(BatchAlgorithm):
    """Cross-entropy on the policy of an `Actor`; its critic and reference do not change."""

    Config: ClassVar[type] = Config
    name = "supervised"
    reads = ("expert", "data")

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        self.config, self.key = config, key
        self.parameters = trainable(policy=model.policy)
        self.optimizer = adamw(self.parameters, config.learning_rate, config.weight_decay)
        self.updates = self.steps = 0

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy. Episodes for training are played by an expert instead."""
        return LanguageModelAgent(
            model.policy, model.format, model.evaluation if evaluating else model.decoding, name=self.name
        )

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch with `is_action` true on the learned tokens only; pure."""
        if self.config.learn_on == "answer":
            return replace(batch, support=None)
        learned = batch.real.clone()
        learned[:, 0] = False  # no state precedes the first token
        learned &= batch.tokens >= 0  # an encoder reads the others,
        learned[:, 1:] &= batch.tokens[:, :-1] >= 0  # and no state precedes the decoder's first token
        return replace(batch, is_action=learned, support=None)

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over one prepared batch, with dropout.

        Returns means over the whole update, weighted by tokens.
        """
        rows = batch.is_action.any(1).nonzero().flatten()
        if not len(rows):
            raise LoquentError("the batch has no token to learn from; give episodes with at least one answer")
        means, before = Means(), self.steps
        for epoch in range(self.config.epochs):
            for chosen in minibatches(
                rows, self.config.minibatch, self.key.child("minibatches", self.updates, epoch)
            ):
                self._gradient_step(model, batch.take(chosen), means)
        self.updates += 1
        progress = {
            "gradient/steps": float(self.steps - before),
            "learning_rate": self.optimizer.param_groups[0]["lr"],
        }
        return {**means.logged(), "supervised/tokens": float(batch.is_action.sum()), **progress}

    def _gradient_step(self, model: Actor, minibatch: TokenBatch, means: Means) -> None:
        """One gradient step on a minibatch; the gradient is a sum over micro-batches."""
        tokens = int(minibatch.is_action.sum())
        for group in self.optimizer.param_groups:
            group["lr"] = step_size(self.steps, self.config)
        self.optimizer.zero_grad(set_to_none=True)
        model.policy.train()
        try:
            part = minibatch.take(parallel.own_rows(torch.arange(len(minibatch))))
            rank = [parallel.rank()] if parallel.size() > 1 else []
            key = self.key.child("dropout", self.steps, *rank)
            with borrowed(key), dropping(key.child("own")):
                for rows in micro_batches(part, self.config.token_budget):
                    total, nll = self._nll(model, part.take(rows).to(model.device))
                    (total / tokens).backward()
                    means.add(**{"supervised/loss": nll})
            parallel.add_gradients(self.parameters.values())
        finally:
            model.policy.eval()
        means.add(
            **{
                "gradient/norm": torch.tensor(
                    clip_gradients(self.parameters, self.config.max_grad_norm), dtype=torch.float64
                )
            }
        )
        self.optimizer.step()
        self.steps += 1

    def _nll(self, model: Actor, batch: TokenBatch) -> tuple[Float[Tensor, ""], Float[Tensor, " N"]]:
        """The summed negative log-likelihood, and that of each token without a gradient."""
        return weighted_nll(model.policy, batch)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer, its tensors by parameter name, and counters."""
        return {
            "optimizer": state_by_name(self.optimizer, self.parameters),
            "updates": self.updates,
            "steps": self.steps,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it belongs to another model."""
        load_by_name(self.optimizer, self.parameters, saved_state.part(state, "optimizer"))
        self.updates, self.steps = saved_state.count(state, "updates"), saved_state.count(state, "steps")
