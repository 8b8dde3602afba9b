"""Base of the learners of values from recorded episodes.

It has their settings, gradient steps, target networks and saved state. A learner defines its value networks
and its loss on a micro-batch.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.algorithms.value_learning.value_losses import MODES
from loquent.core.algorithm import BatchAlgorithm, StepSettings
from loquent.core.seeding import Key
from loquent.core.settings import Remark, redefault, setting
from loquent.errors import BadSetting, LoquentError
from loquent.models.actor import Actor
from loquent.models.score.tokens import micro_batches
from loquent.models.tokens.batch import TokenBatch
from loquent.models.values.networks import BACKBONES, TokenValues
from loquent.pretrained import exact
from loquent.pretrained.learning.gradient_step import GradientStep, Loss, Stepping
from loquent.pretrained.learning.optimization import Means, minibatches, trainable

PAPER, CODE = "2206.11871 sec. 4", "ILQL's released code"


@dataclass(frozen=True, kw_only=True)
class HeadsConfig(StepSettings):
    """Settings of value heads with target networks."""

    gamma: float = setting(0.99, "discount", source=CODE, low=0.0, high=1.0)
    double_q: bool = setting(
        True, "two Q-heads; the target is the smaller of their target values", source=CODE
    )
    value_min: float | None = setting(None, "lower bound of target Q; none: no bound", source=CODE)
    value_max: float | None = setting(None, "upper bound of target Q; none: no bound", source=CODE)
    initial_value: float | None = setting(
        None,
        "initial value everywhere, with last weights of 0; none: the default initialisation of PyTorch",
        source="LMRL-Gym",
    )
    target_rate: float = setting(
        0.005,
        "rate of the moving average of target networks, per gradient step",
        source=CODE,
        low=0.0,
        high=1.0,
    )
    target_every: int = setting(
        0, "gradient steps between full copies to the target networks; 0: none", source=CODE, low=0
    )
    epochs: int = setting(1, "passes over the episodes of one update", low=1)
    minibatch: int = setting(64, "rows in one gradient step", source=CODE, low=1)
    learning_rate: float = redefault(StepSettings, "learning_rate", 1e-4, source=CODE)
    weight_decay: float = redefault(StepSettings, "weight_decay", 0.0, source=CODE)
    token_budget: int = setting(
        8192, "padded tokens in one forward pass; affects memory and speed, not the gradient", low=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.value_min is not None and self.value_max is not None and self.value_min >= self.value_max:
            raise BadSetting(
                f"Config.value_min = {self.value_min} is not below value_max = {self.value_max}; set "
                "it below, or one of them to none"
            )


@dataclass(frozen=True, kw_only=True)
class TrunksConfig(HeadsConfig):
    """Settings of V and Q, and of the trunk whose hidden states they read."""

    tau: float = setting(
        0.5,
        "expectile of V: 0.5 is the mean over the actions in the data; near 1, their maximum",
        source=PAPER,
        low=0.0,
        high=1.0,
    )
    q_weight: float = setting(1.0, "weight of the Q-heads' loss", source=CODE, low=0.0)
    v_weight: float = setting(1.0, "weight of V's loss", source=CODE, low=0.0)
    backbones: str = setting(
        "separate",
        "trunk of the heads: copies of the policy's trunk for values and targets (separate); the "
        "policy's own, trained (shared) or not (frozen, with cached states); or the frozen one with "
        "adapters (lora)",
        choices=BACKBONES,
    )
    rank: int = setting(8, "rank of the adapters, with backbones = lora", source="2106.09685", low=1)
    cache: int = setting(4096, "megabytes of cached states at most, with backbones = frozen", low=0)
    detach_v: bool = setting(False, "whether the loss of V leaves the trunk unchanged", source=CODE)
    detach_q: bool = setting(
        False, "whether the losses of the Q-heads leave the trunk unchanged", source=CODE
    )


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """Settings of the policy's loss: negative log-likelihood weighted by advantages.

    Source: AWAC, arXiv:2006.09359.
    """

    awac_weight: float = setting(
        1.0,
        "weight of the policy's loss; 0: the policy does not learn, except its trunk with backbones = shared",
        source=CODE,
        low=0.0,
    )
    awac_beta: float = setting(
        0.0,
        "weight of a token: exp(awac_beta * advantage); 0: equal weights, which is cloning",
        source=CODE,
        low=0.0,
    )
    awac_mode: str = setting(
        "exponential",
        "weight by exponential, or by sign: awac_beta for advantages above 0, else 1 - awac_beta",
        choices=MODES,
    )
    awac_clip: float | None = setting(None, "largest weight of a token; none: no limit", source=CODE, low=0.0)
    transition_weight: float = setting(0.0, "weight of tokens that the task writes", source=CODE, low=0.0)
    normaliser: str = setting(
        "actions",
        "tokens that the policy's loss is divided by: action tokens, or all (ILQL's released code)",
        choices=("actions", "tokens"),
    )
    detach_policy: bool = setting(
        False, "whether the policy's loss trains its output layer only", source=CODE
    )


class OfflineLearner(Stepping, BatchAlgorithm):
    """Learns the values of an `Actor`, which it attaches as `values`, and optionally its policy."""

    reads = ("data", "expert")
    unused_of_model = ("critic", "reference")

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        self.config, self.key = config, key
        self.imitates = _imitation_weight(config) > 0
        model.values = self.networks(model, key)
        learns = self.imitates or config.backbones == "shared"
        if not learns:
            model.policy.requires_grad_(False)
        networks = {"policy": model.policy, "values": model.values} if learns else {"values": model.values}
        self.gradient = GradientStep(trainable(**networks), config, key, tuple(networks.values()))
        self.updates = 0

    @abstractmethod
    def networks(self, model: Actor, key: Key) -> Any:
        """The value networks: a module with `follow(rate)`. Its parameters that require a gradient learn."""

    @abstractmethod
    def loss(
        self, model: Actor, batch: TokenBatch, minibatch: TokenBatch
    ) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The part of a micro-batch in the loss of its minibatch, and the logged values."""

    @abstractmethod
    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The agent that acts by the learned values."""

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch without supports, in the precision of the values; pure."""
        return replace(batch, support=None)

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over one prepared batch; returns means over the whole update, weighted by tokens."""
        rows = batch.is_action.any(1).nonzero().flatten()
        if not len(rows):
            raise LoquentError("the batch has no action token; give episodes with at least one answer")
        # the rewards of episodes that an expert has just played are float64
        batch = batch.to(exact(model.policy.dtype))
        means, before = Means(), self.gradient.steps
        for epoch in range(self.config.epochs):
            key = self.key.child("minibatches", self.updates, epoch)
            for chosen in minibatches(rows, self.config.minibatch, key):
                norm = self._learn(model, batch.take(chosen), means)
                means.add(**{"gradient/norm": torch.tensor(norm, dtype=torch.float64)})
                self._follow(model)
        self.updates += 1
        return {
            **means.log_values(),
            "gradient/steps": float(self.gradient.steps - before),
            "learning_rate": self.gradient.rate,
        }

    def _learn(self, model: Actor, minibatch: TokenBatch, means: Means) -> float | None:
        """One gradient step on a minibatch; returns the norm of its gradient."""
        return self.gradient.learn(
            minibatch,
            lambda part: Loss(*self.loss(model, part, minibatch)),
            means,
            passes=lambda own: (
                own.take(rows).to(model.device) for rows in micro_batches(own, self.config.token_budget)
            ),
        )

    def _follow(self, model: Actor) -> None:
        values = attached_networks(model)
        if self.config.target_rate:
            values.follow(self.config.target_rate)
        if self.config.target_every and self.gradient.steps % self.config.target_every == 0:
            values.follow(1.0)


def _imitation_weight(config: Any) -> float:
    """The weight of the policy's loss; 0 for learners without one."""
    return config.awac_weight if isinstance(config, PolicyConfig) else 0.0


def build_values(config: Any, model: Actor, key: Key, outputs: int | None = None) -> TokenValues:
    """The value networks of a config.

    Raises:
        BadSetting: the policy has a loss, but `backbones` keeps it fixed.

    Warns:
        Remark: the losses of the values change a policy without a loss of its own.
    """
    weight = _imitation_weight(config)
    if weight > 0 and config.backbones in ("frozen", "lora"):
        raise BadSetting(
            f"awac_weight = {weight} with backbones = {config.backbones!r}, which keep the policy fixed; "
            "set awac_weight to 0, or backbones to 'separate' or 'shared'"
        )
    if weight == 0 and config.backbones == "shared":
        why = (
            "the losses of the values change the policy's trunk; separate, lora and frozen leave the "
            "policy as it is"
        )
        warnings.warn(f"awac_weight = 0 with backbones = 'shared': {why}", Remark, stacklevel=2)
    options: Any = {
        "double": config.double_q,
        "initial": config.initial_value,
        "value_min": config.value_min,
        "value_max": config.value_max,
    }
    return TokenValues.build(
        model.policy, backbones=config.backbones, rank=config.rank, outputs=outputs, key=key, **options
    )


def attached_networks(model: Actor) -> Any:
    """The value networks that the algorithm attached to its actor.

    Raises:
        LoquentError: the actor has none.
    """
    if model.values is None:
        raise LoquentError("the actor has no values; keep those that the algorithm attached as `values`")
    return model.values
