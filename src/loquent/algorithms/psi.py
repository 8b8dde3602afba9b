"""ψ-learning per token: Q-learning regularised towards a prior language model, r / c + log π_β + γ log Σ_a exp Q of the next state.

Jaques et al. (arXiv:1611.02796 sec. 3.3, arXiv:1907.00456), as ILQL's paper compares itself with it. The prior is the policy, which stays
as it is: it should be a clone of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.algorithms import value_losses as losses
from loquent.algorithms.value_learner import CODE, LOGGED, Seen, ValueConfig, ValueLearner
from loquent.models.actor import Actor
from loquent.models.score import action_scores
from loquent.settings import setting

__all__ = ["LOGGED", "Config", "Psi"]


@dataclass(frozen=True, kw_only=True)
class Config(ValueConfig):
    """What `algorithm:` may hold when `kind: psi`."""

    reward_scale: float = setting(0.1, "c: rewards are divided by it; the larger, the nearer to the prior", source=CODE, low=1e-6)
    backbones: str = setting("separate", "as for ilql; the prior learns in none of them", choices=("separate", "lora", "frozen"))


class Psi(ValueLearner):
    """ψ-learning over the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "psi"
    asks_policy = True

    def q_target(self, model: Actor, seen: Seen) -> Float[Tensor, " N"]:
        """R / c + log π_β(a) + γ logsumexp_a' target Q(next state, a')."""
        soft = self.over_tokens(model, seen, lambda q: q.logsumexp(-1))
        with torch.no_grad():
            prior = action_scores(model.policy, seen.batch, support=False, entropy=False, hidden=seen.states.policy).policy
        return losses.bellman_target(seen.reward / self.config.reward_scale, soft, seen.alive, seen.discount) + prior

    def q_loss(self, values: tuple[Float[Tensor, " N"], ...], target: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
        """Huber's."""
        return losses.huber_loss(values, target)
