"""What PPO, A2C and TRPO share: a value function, GAE, and a penalty on the divergence from a reference.

The reward of a turn is on its last token, and `reward - beta * kl` is computed per token (arXiv:2210.01241
sec. 3).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.algorithms.policy_gradient.on_policy import (
    START,
    OnPolicy,
    OnPolicyConfig,
    divergence,
    of,
    reference_kl,
)
from loquent.algorithms.shared import kl, losses
from loquent.algorithms.shared.gae import discounts, gae
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.errors import BadSetting, LoquentError
from loquent.files import saved_state
from loquent.models.actor import Actor
from loquent.models.score.one_pass import Scores
from loquent.models.score.tokens import action_losses, action_scores, deciding
from loquent.models.tokens.batch import TokenBatch, positions
from loquent.pretrained.learning.optimization import Parameters, trainable


@dataclass(frozen=True, kw_only=True)
class ActorCriticConfig(OnPolicyConfig):
    """The settings of learners with a value function."""

    gamma: float = setting(
        1.0,
        "discount; below 1 a reward at the end counts less for the first tokens, after 48 tokens .62 with "
        "0.99; 2210.01241 has 0.99, in sec. 5.4 0.95",
        source="TRL, PPOConfig",
        low=0.0,
        high=1.0,
    )
    lam: float = setting(
        0.95,
        "λ of GAE per token: 0 relies on the critic, 1 on the return",
        source="2210.01241 sec. B.3.1",
        low=0.0,
        high=1.0,
    )
    discount: str = setting(
        "token", "unit of gamma: action tokens, or the learner's turns", choices=("token", "turn")
    )
    normalize_advantages: bool = setting(
        True, "centre and scale advantages in each minibatch", source="stable-baselines3"
    )
    kl_target: float | None = setting(
        None,
        "target of the KL per token, to which beta adapts; none, inf: beta is fixed",
        source="1909.08593 sec. 2.2; none: RL4LMs, KLController",
        low=0.0,
        infinite=True,
    )
    kl_gain: float = setting(
        0.1,
        "gain K of the controller of beta; 2210.01241 has 0.2, its code 0.1",
        source="RL4LMs, KLController",
        low=0.0,
    )
    kl_clip: float = setting(
        0.2, "bound of the relative error in one step of beta", source="2210.01241 eq. 2", low=0.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kl_target == 0:
            raise BadSetting(
                "Config.kl_target = 0 is out of range; set it above 0, or to none for a fixed beta"
            )
        if self.beta == 0 and self.kl_target is not None and math.isfinite(self.kl_target):
            raise BadSetting(
                f"Config.beta = 0 with kl_target = {self.kl_target}: beta changes by factors and "
                "would stay 0; set beta above 0"
            )


def penalise_rewards(batch: TokenBatch, beta: float) -> Float[Tensor, "B T"]:
    """The penalised reward r - β (log policy - log reference) on every action token, 0 elsewhere.

    It is 2210.01241 eq. 1 with the sign corrected.
    """
    return torch.where(batch.is_action, batch.reward - beta * divergence(batch), 0.0)


class ActorCritic(OnPolicy):
    """Base of the learners with a policy and a critic that learn in one loss."""

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        if model.critic is None:
            raise BadSetting(
                f"model.critic = 'none', but {self.name} needs a value function; set model.critic to "
                "'network' or 'head'"
            )
        super().__init__(config, model, key=key)
        self.controller = kl.Controller(
            config.beta, config.kl_target, gain=config.kl_gain, clip=config.kl_clip
        )
        self.last_kl = 0.0

    def learned_parameters(self, model: Actor) -> Parameters:
        """The parameters of the policy and of the critic."""
        return trainable(policy=model.policy, critic=model.critic)

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The scored batch with advantages and value targets; pure."""
        if batch.value is None or batch.bootstrap is None or batch.drawn_logprob is None:
            problem = "the batch has no value, bootstrap or drawn_logprob"
            raise LoquentError(
                f"{problem}; {self.name} needs scored batches of its own play, from models.score.tokens.score"
            )
        at = positions(batch)
        reward, value, turn = (
            x.gather(1, at.action)
            for x in (penalise_rewards(batch, self.controller.coefficient), batch.value, batch.turn)
        )
        factor = discounts(turn, at.real, self.config.gamma, self.config.discount).to(reward)
        estimate = gae(reward, value, at.real, at.alive, batch.bootstrap, factor, self.config.lam)
        columns = []
        for actions in estimate:
            column = torch.zeros_like(batch.reward)
            column[batch.is_action] = actions[at.real]
            columns.append(column)
        return replace(batch, advantage=columns[0], target=columns[1])

    def centre_advantages(self, minibatch: TokenBatch) -> TokenBatch:
        """The minibatch, with advantages centred and scaled within it if the settings say so."""
        if not self.config.normalize_advantages:
            return minibatch
        advantage, chosen = torch.zeros_like(minibatch.reward), minibatch.is_action
        advantage[chosen] = losses.normalise(of(minibatch.advantage, chosen))
        return replace(minibatch, advantage=advantage)

    def after_update(self, model: Actor) -> dict[str, float]:
        """One step of the KL controller."""
        return {"kl/coefficient_next": self.controller.step(self.last_kl)}

    def loss(self, model: Actor, batch: TokenBatch) -> dict[str, Float[Tensor, " N"]]:
        """The loss as "total", and the logged values: a number for each action token."""
        hidden, value = model(batch, want_values=True, wanted=deciding(batch))  # one forward pass per network
        with torch.set_grad_enabled(self.learns_policy and torch.is_grad_enabled()):
            policy, scores = self._policy_loss(model, batch, hidden)
        new, old = self.logprobs(scores, batch)
        measured = self.surrogate(new, old, of(batch.advantage, batch.is_action))[1]
        critic = self.critic_loss(value, batch)
        entropy = self.entropy(scores)
        total = policy if self.learns_policy else torch.zeros_like(policy)
        if self.config.value_coefficient:
            total = total + self.config.value_coefficient * critic
        if self.config.entropy_coefficient and self.learns_policy:
            total = total - self.config.entropy_coefficient * entropy
        logged = {"policy/loss": policy, "policy/entropy": entropy, **measured}
        return {"total": total, **logged, "policy/kl_old": kl.k3(old, new), "critic/loss": critic}

    def _policy_loss(
        self, model: Actor, batch: TokenBatch, hidden: Tensor
    ) -> tuple[Float[Tensor, " N"], Scores]:
        """The policy's loss per action token, and the scores."""
        advantage = of(batch.advantage, batch.is_action)

        def losses(scores: Scores, here: slice) -> Tensor:
            new, old = self.logprobs(scores, batch, here)
            return self.surrogate(new, old, advantage[here])[0]

        if not self.config.entropy_coefficient:
            return action_losses(model.policy, batch, losses, hidden=hidden)
        scores = action_scores(model.policy, batch, hidden=hidden)
        return losses(scores, slice(None)), scores

    @property
    def learns_policy(self) -> bool:
        """Whether this update changes the policy, not the critic alone."""
        return True

    @abstractmethod
    def surrogate(
        self, new: Float[Tensor, " N"], old: Float[Tensor, " N"], advantage: Float[Tensor, " N"]
    ) -> tuple[Float[Tensor, " N"], dict[str, Float[Tensor, " N"]]]:
        """The negated objective of the policy per action token, and more logged values."""

    def critic_loss(self, value: Float[Tensor, "B T"], batch: TokenBatch) -> Float[Tensor, " N"]:
        """The loss of the critic per action token, from its values at all positions."""
        chosen = batch.is_action
        current = value[:, :-1][chosen[:, 1:]]  # the state of an action token is the position before it
        return losses.squared_error(
            current, of(batch.target, chosen), of(batch.value, chosen), self.value_clip
        )

    @property
    def value_clip(self) -> float | None:
        """The clip range of values around those at collection; None: no clipping."""
        return None

    def entropy(self, scores: Scores) -> Float[Tensor, " N"]:
        """The entropy of the distribution that each token was drawn from."""
        return scores.entropy

    def summary(self, batch: TokenBatch) -> dict[str, float]:
        """Logged values of the batch, before any gradient step."""
        chosen, episodes = batch.is_action, len(batch.episode.unique())
        advantage, target, value = (
            of(column, chosen).double() for column in (batch.advantage, batch.target, batch.value)
        )
        kl_k1 = divergence(batch)[chosen].double()
        beta = self.controller.coefficient
        explained = losses.explained_variance(value, target)
        measured = reference_kl(batch)
        self.last_kl = measured["kl/reference"]
        return {
            "critic/learning_rate": self.gradient.rate_of("critic"),
            "critic/explained_variance": float("nan") if explained is None else explained,
            **measured,
            "kl/coefficient": beta,
            "reward/task": float(batch.reward[chosen].double().sum()) / episodes,
            "reward/penalty": -beta * float(kl_k1.sum()) / episodes,
            "advantage/mean": float(advantage.mean()),
            "advantage/deviation": float(advantage.std(unbiased=False)),
        }

    def state_dict(self) -> dict[str, Any]:
        """The optimizer, its tensors by parameter name, the controller and counters."""
        return {
            **super().state_dict(),
            "controller": self.controller.state_dict(),
            "last_kl": self.last_kl,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it belongs to another model."""
        super().load_state_dict(state)
        self.controller.load_state_dict(saved_state.part(state, "controller"))
        self.last_kl = saved_state.number(state, "last_kl")
