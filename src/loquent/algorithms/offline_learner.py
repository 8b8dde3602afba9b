"""What the learners of values from recorded episodes share, per token or per answer: settings, the pass over a batch in gradient steps, targets
that follow, and what a checkpoint holds of them. Each says what its networks are, and its loss on a micro-batch.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent import parallel
from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms.optimization import Means, adamw, clip_gradients, load_by_name, minibatches, refuse_half_precision, state_by_name, trainable
from loquent.algorithms.ppo import START
from loquent.algorithms.schedule import ScheduleConfig, step_size
from loquent.errors import BadSetting, LoquentError
from loquent.models.actor import Actor
from loquent.models.score import micro_batches
from loquent.models.tokens import TokenBatch
from loquent.models.values import BACKBONES, TokenValues
from loquent.seeding import Key, borrowed
from loquent.settings import Remark, setting

PAPER, CODE = "2206.11871 sec. 4", "ILQL's released code"


@dataclass(frozen=True, kw_only=True)
class HeadsConfig(ScheduleConfig):
    """Heads with targets, and how they step."""

    gamma: float = setting(0.99, "discount", source=CODE, low=0.0, high=1.0)
    double_q: bool = setting(True, "two Q-heads, the smaller of whose targets counts", source=CODE)
    value_min: float | None = setting(None, "target Q is at least this; none: not clipped", source=CODE)
    value_max: float | None = setting(None, "target Q is at most this; none: not clipped", source=CODE)
    initial_value: float | None = setting(
        None, "what every value begins at, the heads' last weights at 0; none: as PyTorch begins", source="LMRL-Gym"
    )
    target_rate: float = setting(0.005, "how far targets move at each gradient step", source=CODE, low=0.0, high=1.0)
    target_every: int = setting(0, "gradient steps between copies onto the targets, beside that; 0: none", source=CODE, low=0)
    epochs: int = setting(1, "passes over one draw of episodes", low=1)
    minibatch: int = setting(64, "rows in one gradient step", source=CODE, low=1)
    learning_rate: float = setting(1e-4, "AdamW's largest step; a small model made here learns with 1e-3", source=CODE, low=0.0)
    weight_decay: float = setting(0.0, "AdamW's decay of matrices; vectors do not decay", source=CODE, low=0.0)
    max_grad_norm: float | None = setting(1.0, "the gradient is scaled down to this norm; none: never", low=0.0)
    token_budget: int = setting(8192, "padded tokens in one forward pass; changes memory and speed, not the gradient", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.value_min is not None and self.value_max is not None and self.value_min >= self.value_max:
            raise BadSetting(f"Config.value_min = {self.value_min} is not below value_max = {self.value_max}")


@dataclass(frozen=True, kw_only=True)
class TrunksConfig(HeadsConfig):
    """V beside Q, and whose hidden states they read."""

    tau: float = setting(0.5, "expectile of V: 0.5 is the mean of what was done, towards 1 the best of it", source=PAPER, low=0.0, high=1.0)
    q_weight: float = setting(1.0, "weight of the Q-heads' loss", source=CODE, low=0.0)
    v_weight: float = setting(1.0, "weight of V's loss", source=CODE, low=0.0)
    backbones: str = setting(
        "separate",
        "the heads read copies of the trunk for values and targets; the policy's own, which both train (shared) or nobody (frozen: its states "
        "are kept); or that frozen one with adapters (lora)",
        choices=BACKBONES,
    )
    rank: int = setting(8, "rank of the adapters, with backbones = lora", source="2106.09685", low=1)
    cache: int = setting(4096, "most megabytes of kept states, with backbones = frozen", low=0)
    detach_v: bool = setting(False, "V's loss does not reach the trunk", source=CODE)
    detach_q: bool = setting(False, "the Q-heads' losses do not reach the trunk", source=CODE)


class OfflineLearner(ABC):
    """Learns values, and perhaps the policy, of an `Actor`, to which it attaches `values`."""

    Config: ClassVar[type]
    name: ClassVar[str]
    scored = False
    reads = ("data", "expert")

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        self.config, self.key = config, key
        self.imitates = getattr(config, "awac_weight", 0.0) > 0
        model.values = self.networks(model, key)
        learns = self.imitates or config.backbones == "shared"
        if not learns:
            model.policy.requires_grad_(False)
        self.parameters = trainable(**({"policy": model.policy} if learns else {}), values=model.values)
        refuse_half_precision(self.parameters)
        self.optimizer = adamw(self.parameters, config.learning_rate, config.weight_decay)
        self.learning = [model.values, *([model.policy] if learns else [])]
        self.updates = self.steps = 0

    @abstractmethod
    def networks(self, model: Actor, key: Key) -> Any:
        """The values' networks: a module with `follow(rate)`, whose parameters that require a gradient learn."""

    @abstractmethod
    def loss(self, model: Actor, batch: TokenBatch, whole: TokenBatch) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The share that a micro-batch has in the loss of the whole minibatch, and what is logged of it."""

    @abstractmethod
    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """Whoever acts by what was learned."""

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch without what only learners from their own play need; pure."""
        return replace(batch, support=None)

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over one prepared batch; returns the means over the whole update, weighted by tokens."""
        rows = batch.is_action.any(1).nonzero().flatten()
        if not len(rows):
            raise LoquentError("the batch has no action token: there is nothing to learn from")
        means, before = Means(), self.steps
        for network in self.learning:
            network.train()
        try:
            for epoch in range(self.config.epochs):
                for chosen in minibatches(rows, self.config.minibatch, self.key.child("minibatches", self.updates, epoch)):
                    self._gradient_step(model, batch.take(chosen), means)
        finally:
            for network in self.learning:
                network.eval()
        self.updates += 1
        return {**means.logged(), "gradient/steps": float(self.steps - before), "learning_rate": self.optimizer.param_groups[0]["lr"]}

    def after_update(self, model: Actor) -> dict[str, float]:
        """Nothing happens between updates: targets follow at each gradient step."""
        return {}

    def _gradient_step(self, model: Actor, minibatch: TokenBatch, means: Means) -> None:
        """One step on a minibatch, its gradient summed over micro-batches; then the targets follow."""
        for group in self.optimizer.param_groups:
            group["lr"] = step_size(self.steps, self.config)
        self.optimizer.zero_grad(set_to_none=True)
        mine = minibatch.take(parallel.own(torch.arange(len(minibatch))))
        with borrowed(self.key.child("dropout", self.steps, parallel.rank())):
            for rows in micro_batches(mine, self.config.token_budget):
                total, logged = self.loss(model, mine.take(rows).to(model.device), minibatch)
                total.backward()
                means.add(**logged)
        parallel.add_gradients(self.parameters.values())
        means.add(**{"gradient/norm": torch.tensor(clip_gradients(self.parameters, self.config.max_grad_norm))})
        self.optimizer.step()
        self.steps += 1
        self._follow(model)

    def _follow(self, model: Actor) -> None:
        values = attached(model)
        if self.config.target_rate:
            values.follow(self.config.target_rate)
        if self.config.target_every and self.steps % self.config.target_every == 0:
            values.follow(1.0)

    def state_dict(self) -> dict[str, Any]:
        """Optimizer (tensors by parameter name) and counters; the values stand with the model."""
        return {"optimizer": state_by_name(self.optimizer, self.parameters), "updates": self.updates, "steps": self.steps}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave; BadCheckpoint when it belongs to another model."""
        load_by_name(self.optimizer, self.parameters, state["optimizer"])
        self.updates, self.steps = int(state["updates"]), int(state["steps"])


def build_values(config: Any, model: Actor, key: Key, outputs: int | None = None) -> TokenValues:
    """The values that a config describes.

    Raises:
        BadSetting: a policy that stays as it is is to imitate.

    Warns:
        Remark: the values' losses move a policy that does not imitate.
    """
    weight = getattr(config, "awac_weight", 0.0)
    if weight > 0 and config.backbones in ("frozen", "lora"):
        raise BadSetting(f"backbones = {config.backbones!r} leaves the policy as it is: awac_weight = {weight} has to be 0 then")
    if weight == 0 and config.backbones == "shared":
        why = "the values' losses move the policy's trunk, and so what it says; separate, lora and frozen leave the policy as it is"
        warnings.warn(f"awac_weight = 0 with backbones = 'shared': {why}", Remark, stacklevel=2)
    heads: Any = {"double": config.double_q, "initial": config.initial_value, "value_min": config.value_min, "value_max": config.value_max}
    return TokenValues.build(model.policy, backbones=config.backbones, rank=config.rank, outputs=outputs, key=key, **heads)


def attached(model: Actor) -> Any:
    """The values that the algorithm attached to its actor.

    Raises:
        LoquentError: they are gone.
    """
    if model.values is None:
        raise LoquentError("the actor's values are gone; the algorithm attached them")
    return model.values
