"""What all on-policy learners share: collection by the policy itself, gradient steps, and their state.

Every token of an answer is an action. Gradients are exact sums over micro-batches, and no network has
dropout, so the ratio of an unchanged policy is 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms.shared import kl
from loquent.core.algorithm import BatchAlgorithm, StepSettings
from loquent.core.seeding import Key
from loquent.core.settings import redefault, setting
from loquent.errors import BadSetting, LoquentError
from loquent.files.machine import parallel
from loquent.models.actor import Actor
from loquent.models.decoding_settings import check_sampling
from loquent.models.score.one_pass import Scores
from loquent.models.score.tokens import micro_batches
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.learning.gradient_step import GradientStep, Logged, Loss, Stepping
from loquent.pretrained.learning.optimization import Means, Parameters, minibatches

START = Key(0, ("algorithm",))


@dataclass(frozen=True, kw_only=True)
class OnPolicyConfig(StepSettings):
    """The settings that all on-policy learners have."""

    learning_rate: float = redefault(
        StepSettings,
        "learning_rate",
        1e-6,
        source="2210.01241 sec. B.3.1",
        why="peak learning rate; 1e-4 suits small models trained from scratch",
    )
    weight_decay: float = redefault(StepSettings, "weight_decay", 1e-6, source="RL4LMs, policies' default")
    max_grad_norm: float | None = redefault(StepSettings, "max_grad_norm", 0.5, source="stable-baselines3")
    beta: float = setting(
        0.1,
        "coefficient of the KL penalty at the start; 0: no penalty",
        source="2210.01241 sec. B.3.1",
        low=0.0,
    )
    ratio: str = setting(
        "support",
        "probabilities in the ratio: in the support that tokens are drawn from, or raw",
        choices=("support", "raw"),
    )
    kl_temperature: str = setting(
        "one",
        "temperature of the full softmax, in the KL to the reference and in raw ratios: 1, or decoding's",
        source="TRL has decoding's",
        choices=("one", "sampling"),
    )
    token_budget: int = setting(
        8192, "padded tokens in one forward pass; affects memory and speed, not the gradient", low=1
    )


class OnPolicy(Stepping, BatchAlgorithm):
    """Base of the learners that learn from the policy's own episodes, in gradient steps on minibatches."""

    scored = True
    reads = ("play",)
    unused_of_model: ClassVar[tuple[str, ...]] = ("lora.dropout",)
    per_step: ClassVar[tuple[str, ...]] = ("policy/loss", "gradient/norm")
    """The logged values of gradient steps, which are nan in an update without any."""

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        if config.beta > 0 and model.reference is None:
            raise BadSetting(
                f"beta = {config.beta} needs a reference for the KL; set model.reference, or set beta to 0"
            )
        check_sampling(model.decoding, f"so the ratios of {self.name} would be wrong")
        self.config, self.key = config, key
        self.tempered = config.kl_temperature == "sampling"
        self.gradient = GradientStep(self.learned_parameters(model), config, key)
        self.updates = 0

    @abstractmethod
    def learned_parameters(self, model: Actor) -> Parameters:
        """The parameters of the actor that gradient steps change, by name."""

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, with the decoding of collection or of evaluation."""
        return LanguageModelAgent.of(model, evaluating, self.updates, name=self.name)

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over one prepared batch; returns means over the whole update, weighted by tokens."""
        rows = acting_rows(batch)
        model.eval()  # no dropout, so that the ratio is 1 for an unchanged policy
        means, steps = Means(), 0
        for chosen in self.minibatches(batch, rows):
            norm = self._learn(model, batch.take(chosen), means, first=steps == 0)
            if norm is None:
                break
            means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
            steps += 1
        age = age_of(batch, self.updates)
        self.updates += 1
        logs = {**self.summary(batch), **age}
        return {
            **dict.fromkeys(self.per_step, math.nan),
            **means.log_values(),
            "gradient/steps": float(steps),
            **logs,
        }

    @abstractmethod
    def loss(self, model: Actor, batch: TokenBatch) -> dict[str, Float[Tensor, " N"]]:
        """The loss as "total", and the logged values: a number for each action token.

        "policy/ratio" and "policy/kl_old" are among them.
        """

    @abstractmethod
    def summary(self, batch: TokenBatch) -> dict[str, float]:
        """Logged values of the batch, before any gradient step."""

    def minibatches(self, batch: TokenBatch, rows: Tensor) -> Iterator[Tensor]:
        """The rows of each gradient step, of `rows`, which have an action token."""
        yield from self.schedule(rows)

    def centre_advantages(self, minibatch: TokenBatch) -> TokenBatch:
        """The minibatch as its gradient step uses it; unchanged here."""
        return minibatch

    def divisor(self, minibatch: TokenBatch) -> float:
        """The number that the sum of "total" over a minibatch is divided by; its action tokens here."""
        return int(minibatch.is_action.sum())

    def micro_batches(self, minibatch: TokenBatch) -> Sequence[Sequence[int]]:
        """The rows of each forward pass."""
        return micro_batches(minibatch, self.config.token_budget)

    def accepts(self, kl_old: Tensor | float) -> bool:
        """Whether a minibatch with this mean `policy/kl_old` is learned from; if not, the update ends."""
        return True

    def logprobs(
        self, scores: Scores, batch: TokenBatch, here: slice = slice(None)
    ) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
        """Logarithms of the numerator and the denominator of r_t(θ), of the tokens of the scores.

        Args:
            here: the places of these tokens among the batch's action tokens.
        """
        if self.config.ratio == "raw":
            return scores.policy, of(batch.policy_logprob, batch.is_action)[here]
        return scores.drawn, of(batch.drawn_logprob, batch.is_action)[here]

    def schedule(self, items: Tensor) -> Iterator[Tensor]:
        """The items of each minibatch of all epochs; each epoch has its own order."""
        for epoch in range(self.config.epochs):
            yield from minibatches(
                items,
                self.config.minibatch or max(1, len(items)),
                self.key.child("minibatches", self.updates, epoch),
            )

    def _learn(self, model: Actor, minibatch: TokenBatch, means: Means, *, first: bool) -> float | None:
        """One gradient step on a minibatch; its norm, or None, without a step, if `accepts` refuses it."""
        tokens = int(minibatch.is_action.sum())

        def loss(part: TokenBatch) -> Loss:
            logged = self.loss(model, part)
            if first:
                means.greatest("policy/ratio_error", (logged["policy/ratio"].detach() - 1).abs())
            return Loss(logged.pop("total").sum(), logged)

        def veto(logged: Logged) -> bool:
            diverged = torch.zeros((), dtype=torch.float64, device=model.device)  # without a pass too
            for part in logged:
                diverged += part["policy/kl_old"].double().sum() / tokens
            return not self.accepts(parallel.sum_all(diverged))

        return self.gradient.learn(
            self.centre_advantages(minibatch),
            loss,
            means,
            passes=lambda own: (own.take(rows).to(model.device) for rows in self.micro_batches(own)),
            divisor=self.divisor(minibatch),
            veto=veto,
        )


def age_of(batch: TokenBatch, updates: int) -> dict[str, float]:
    """`policy/age` of a batch before update number `updates`; empty if the newest policy drew all tokens."""
    if batch.version is None:
        return {}
    age = updates - batch.version[batch.is_action].double()
    return {"policy/age": float(age.mean())} if bool(age.any()) else {}


def acting_rows(batch: TokenBatch) -> Tensor:
    """The rows with an action token; LoquentError if there are none."""
    rows = batch.is_action.any(1).nonzero().flatten()
    if not len(rows):
        raise LoquentError("the batch has no action token; give episodes with at least one answer")
    return rows


def divergence(batch: TokenBatch) -> Float[Tensor, "B T"]:
    """The k1 estimate of KL(policy, reference) per action token, by the full softmax of `kl_temperature`.

    0 elsewhere and without reference.
    """
    if batch.reference_logprob is None or batch.policy_logprob is None:
        return torch.zeros_like(batch.reward)
    return torch.where(batch.is_action, kl.k1(batch.policy_logprob, batch.reference_logprob), 0.0)


def reference_kl(batch: TokenBatch) -> dict[str, float]:
    """The mean divergence from the reference over action tokens, by k1 and by k3, as logged values."""
    chosen, kl_k3 = batch.is_action, 0.0
    if batch.reference_logprob is not None:
        kl_k3 = float(
            kl.k3(of(batch.policy_logprob, chosen), batch.reference_logprob[chosen]).double().mean()
        )
    return {
        "kl/reference": float(divergence(batch)[chosen].double().mean()),
        "kl/reference_k3": kl_k3,
    }


def of(column: Float[Tensor, "B T"] | None, chosen: Tensor) -> Float[Tensor, " N"]:
    """The entries of a column at chosen positions; LoquentError if the batch has no such column."""
    if column is None:
        raise LoquentError(
            "the batch lacks a column: it has not been scored and prepared; call score, then prepare"
        )
    return column[chosen]
