"""TRPO for language models: one natural-gradient step, as long as the KL from the policy before it allows.

Source: arXiv:1502.05477, with the KL of eq. 12 in the full softmax at the states of the collected tokens, and
advantages by GAE. The direction comes from conjugate gradients with exact Fisher-vector products; a line
search takes the longest step that stays in the trust region and improves the surrogate. The critic learns by
gradient steps. The reward of a turn is on its last token, and `reward - beta * kl` is computed per token.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent import pretrained
from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.actor_critic import ActorCritic, ActorCriticConfig
from loquent.algorithms.policy_gradient.nlpo import frozen_copy
from loquent.algorithms.policy_gradient.on_policy import START, acting_rows, age_of, of
from loquent.algorithms.presets import PRESETS
from loquent.algorithms.shared import kl
from loquent.algorithms.shared.trust_region import assign, conjugate_gradients, flat, longest, parts
from loquent.core.algorithm import StepSettings
from loquent.core.seeding import Key
from loquent.core.settings import redefault, setting
from loquent.core.values import Record
from loquent.errors import BadCheckpoint, BadSetting, LoquentError
from loquent.files import saved_state
from loquent.files.machine import parallel
from loquent.models.actor import Actor
from loquent.models.score.fisher import Fisher, mean_kl
from loquent.models.score.tokens import action_scores, deciding
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.learning.gradient_step import Loss
from loquent.pretrained.learning.optimization import Means, Parameters, minibatches, trainable

LOGGED = logged_keys.BUILT_IN["trpo"]


@dataclass(frozen=True, kw_only=True)
class Config(ActorCriticConfig):
    """Settings of `trpo`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["trpo"]
    radius: float = setting(
        0.01, "δ: the largest mean KL of the old policy from the new one", source="1502.05477 eq. 12", low=0.0
    )
    conjugate_steps: int = setting(15, "steps of conjugate gradients", source="sb3-contrib; RL4LMs", low=1)
    damping: float = setting(
        0.1, "added to the diagonal of the Fisher matrix", source="sb3-contrib; RL4LMs", low=0.0
    )
    orthogonal: bool = setting(
        False,
        "keep the residuals of conjugate gradients orthogonal, in the memory of `conjugate_steps` gradients",
        source="Golub and Van Loan, sec. 10.3.1",
    )
    shrink: float = setting(
        0.8,
        "factor from one length of the line search to the next",
        source="sb3-contrib; RL4LMs",
        low=0,
        high=1,
    )
    searches: int = setting(10, "lengths that the line search tries", source="sb3-contrib; RL4LMs", low=1)
    learning_rate: float = redefault(
        StepSettings,
        "learning_rate",
        1e-3,
        source="sb3-contrib; RL4LMs",
        why="peak learning rate of the critic",
    )
    max_grad_norm: float | None = redefault(
        StepSettings, "max_grad_norm", None, why="largest norm of the critic's gradient; none: no clipping"
    )
    critic_epochs: int = setting(
        10, "passes of the critic over one batch of episodes", source="sb3-contrib; RL4LMs", low=1
    )
    critic_minibatch: int = setting(16, "episodes in one gradient step of the critic", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius == 0:
            raise BadSetting("Config.radius = 0 is out of range, the policy would never move; set it above 0")
        if self.shrink in (0, 1):
            raise BadSetting(
                f"Config.shrink = {self.shrink:g} is out of range, each length of the line search must be a "
                "part of the one before; set it between 0 and 1, both excluded"
            )

    def steps_of_update(self, episodes: int) -> int:
        """The gradient steps of the critic in an update."""
        return self.critic_epochs * math.ceil(episodes / self.critic_minibatch)

    def without_repetitions(self) -> Config:
        """The settings with one pass of each loop: an update of the same memory, in less time."""
        return replace(self, conjugate_steps=1, searches=1, critic_epochs=1)


def surrogate(ratio: Float[Tensor, " N"], advantage: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """The loss -r_t(θ) Â_t per token (1502.05477 eq. 14, negated)."""
    return -ratio * advantage


class TRPO(ActorCritic):
    """TRPO on the policy of an `Actor`, and gradient steps on its critic, without dropout.

    A critic that is a head reads the policy's states and does not change them.
    """

    Config: ClassVar[type] = Config
    name = "trpo"
    # the old policy and its vector, the gradient, the step, and the four vectors of conjugate gradients
    working_copies = 8

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        if config.orthogonal:
            self.working_copies = TRPO.working_copies + config.conjugate_steps
        policy = trainable(policy=model.policy)
        self._names, self._policy = list(policy), list(policy.values())
        wide = [torch.promote_types(p.dtype, torch.float32) for p in self._policy]
        self._type = wide[0]
        # parameters of 16 bits are rounded from exact ones, or small steps would be lost
        self._exact = (
            flat(self._policy, self._type) if any(p.dtype != self._type for p in self._policy) else None
        )

    def learned_parameters(self, model: Actor) -> Parameters:
        """The parameters of the critic; the policy has steps of its own."""
        return trainable(critic=model.critic)

    @property
    def parameters(self) -> Parameters:
        """The parameters of the policy and of the critic, by name."""
        return dict(zip(self._names, self._policy, strict=True)) | self.gradient.parameters

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """One step of the policy on the whole batch, and the epochs of the critic."""
        rows = acting_rows(batch)
        model.eval()  # no dropout, so that the ratio is 1 for an unchanged policy
        logs = self._step(model, self.centre_advantages(batch))
        means, steps = Means(), 0
        for chosen in self._schedule_of_critic(rows):
            self._critic_step(model, batch.take(chosen), means)
            steps += 1
        logs |= age_of(batch, self.updates)
        self.updates += 1
        return {**logs, **means.log_values(), "gradient/steps": float(steps), **self.summary(batch)}

    def loss(self, model: Actor, batch: TokenBatch) -> dict[str, Float[Tensor, " N"]]:
        """The policy's loss as "total", and the logged values: a number for each action token."""
        scores = action_scores(model.policy, batch)
        new, old = self.logprobs(scores, batch)
        ratio = (new - old).exp()
        total = surrogate(ratio, of(batch.advantage, batch.is_action))
        return {
            "total": total,
            "policy/loss": total,
            "policy/entropy": scores.entropy,
            "policy/ratio": ratio,
            "policy/kl_old": kl.k3(old, new),
        }

    def surrogate(
        self, new: Float[Tensor, " N"], old: Float[Tensor, " N"], advantage: Float[Tensor, " N"]
    ) -> tuple[Float[Tensor, " N"], dict[str, Float[Tensor, " N"]]]:
        """The policy's loss, and the ratio."""
        ratio = (new - old).exp()
        return surrogate(ratio, advantage), {"policy/ratio": ratio}

    def direction(self, model: Actor, batch: TokenBatch, gradient: Tensor) -> tuple[Tensor, float]:
        """The longest step: (F + damping) x = g by conjugate gradients, scaled to the trust region.

        Returns it with the relative residual.
        """
        fisher = Fisher(model.policy, batch, self._policy, self.config.token_budget)

        def product(vector: Tensor) -> Tensor:
            images = fisher.product(parts(vector, self._policy))
            return flat(images, self._type) + self.config.damping * vector

        solution, residual = conjugate_gradients(
            product, gradient, self.config.conjugate_steps, orthogonal=self.config.orthogonal
        )
        return solution * longest(solution, product(solution), self.config.radius), residual

    def _step(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """The step of the policy: gradient, direction and line search."""
        means = Means()
        gradient, before = self._gradient(model, batch, means)
        norm = float(gradient.norm())
        if not math.isfinite(norm):
            raise LoquentError(
                f"the norm of the gradient is {norm}: training has diverged; try a smaller radius"
            )
        step, residual = self.direction(model, batch, gradient)
        old, start = frozen_copy(model.policy), self._flat()
        share, taken, improvement = 1.0, 0.0, 0.0
        for _ in range(self.config.searches if norm else 0):
            assign(self._policy, start + share * step)
            taken, improvement = self._measure(old, model, batch, before)
            if taken <= self.config.radius and improvement > 0:
                break
            share *= self.config.shrink
        else:
            share = taken = improvement = 0.0
            assign(self._policy, flat(list(_parameters(old, self._names)), self._type))
        if self._exact is not None:
            self._exact = start + share * step
        return {
            **means.log_values(),
            "gradient/norm": norm,
            "trust/kl": taken,
            "trust/improvement": improvement,
            "trust/share": share,
            "trust/residual": residual,
        }

    def _gradient(self, model: Actor, batch: TokenBatch, means: Means) -> tuple[Tensor, float]:
        """The flat gradient of the surrogate, and the surrogate, as means over tokens."""
        tokens, objective, own = int(batch.is_action.sum()), 0.0, parallel.own(batch)
        total = torch.zeros(sum(p.numel() for p in self._policy), dtype=self._type, device=model.device)
        for rows in self.micro_batches(own):
            measured = self.loss(model, own.take(rows).to(model.device))
            loss = measured.pop("total").sum() / tokens
            gradients = torch.autograd.grad(loss, self._policy, materialize_grads=True, allow_unused=True)
            total -= flat(gradients, self._type)
            objective -= float(loss.detach())
            means.greatest("policy/ratio_error", (measured["policy/ratio"] - 1).abs())
            means.add(**{name: measured[name] for name in ("policy/loss", "policy/entropy")})
        return parallel.sum_all(total), parallel.total(objective)

    @torch.no_grad()
    def _measure(self, old: Any, model: Actor, batch: TokenBatch, before: float) -> tuple[float, float]:
        """The mean KL of the old policy from the present one, and how much the surrogate has grown."""
        tokens, objective, own = int(batch.is_action.sum()), 0.0, parallel.own(batch)
        for rows in self.micro_batches(own):
            loss = self.loss(model, own.take(rows).to(model.device))["total"]
            objective -= float(loss.sum() / tokens)
        taken = mean_kl(old, model.policy, batch, self.config.token_budget)
        return taken, parallel.total(objective) - before

    def _flat(self) -> Tensor:
        return flat(self._policy, self._type) if self._exact is None else self._exact

    def _schedule_of_critic(self, rows: Tensor) -> Iterator[Tensor]:
        for epoch in range(self.config.critic_epochs):
            key = self.key.child("minibatches", self.updates, epoch)
            yield from minibatches(rows, self.config.critic_minibatch, key)

    def _critic_step(self, model: Actor, minibatch: TokenBatch, means: Means) -> None:
        """One gradient step of the critic on a minibatch."""

        def loss(part: TokenBatch) -> Loss:
            wanted, shared = deciding(part), None
            if model.critic is not None and model.critic.trunk is None:
                with torch.no_grad():
                    shared = pretrained.hidden(model.policy, part.tokens, wanted)
            critic = self.critic_loss(model.state_values(part, shared, wanted), part)
            return Loss(critic.sum(), {"critic/loss": critic})

        self.gradient.learn(
            minibatch,
            loss,
            means,
            passes=lambda own: (own.take(rows).to(model.device) for rows in self.micro_batches(own)),
            divisor=int(minibatch.is_action.sum()),
        )

    def state_dict(self) -> dict[str, Any]:
        """The state of the critic's optimizer, the controller, counters, and exact weights of 16 bits."""
        exact = {} if self._exact is None else {"exact": self._exact.clone()}
        return {**super().state_dict(), **exact}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it belongs to another model."""
        super().load_state_dict(state)
        if self._exact is not None:
            exact = saved_state.field(state, "exact")
            if not isinstance(exact, Tensor) or exact.shape != self._exact.shape:
                raise BadCheckpoint(
                    f"the exact weights of trpo must be {len(self._exact)} numbers; resume with the model of "
                    "the run"
                )
            self._exact = exact.to(self._exact, copy=True)


def _parameters(module: Any, names: list[str]) -> Iterator[Tensor]:
    """The parameters of a copy of the policy, by the names of `trainable`."""
    of_module = {f"policy.{name}": p for name, p in module.named_parameters()}
    return (of_module[name] for name in names)
