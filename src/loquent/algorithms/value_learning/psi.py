"""ψ-learning per token: Q-learning regularised towards a prior language model π_β.

Jaques et al. (arXiv:1611.02796 sec. 3.3, arXiv:1907.00456), in the variant of ILQL's paper. The target of Q
is r / c + log π_β(a) + γ log Σ_a' exp Q(next state, a'). The prior is the policy, which does not learn; use a
clone of the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.algorithms.presets import PRESETS
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.offline_learner import CODE
from loquent.algorithms.value_learning.value_learner import LOGGED, LossInputs, ValueConfig, ValueLearner
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.score.tokens import action_scores

__all__ = ["LOGGED", "Config", "Psi"]


@dataclass(frozen=True, kw_only=True)
class Config(ValueConfig):
    """Settings of `psi`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["psi"]
    reward_scale: float = setting(
        0.1, "divisor c of rewards; a larger one keeps the policy closer to the prior", source=CODE, low=1e-6
    )
    backbones: str = setting(
        "separate",
        "trunk of the heads, as for ilql; the prior never learns",
        choices=("separate", "lora", "frozen"),
    )


class Psi(ValueLearner):
    """ψ-learning on the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "psi"
    needs_policy = True

    def q_target(self, model: Actor, inputs: LossInputs) -> Float[Tensor, " N"]:
        """The target r / c + log π_β(a) + γ logsumexp_a' target Q(next state, a')."""
        soft = self.over_tokens(model, inputs, lambda q: q.logsumexp(-1))
        with torch.no_grad():
            prior = action_scores(
                model.policy, inputs.batch, support=False, entropy=False, hidden=inputs.states.policy
            ).policy
        return (
            losses.bellman_target(
                inputs.reward / self.config.reward_scale, soft, inputs.alive, inputs.discount
            )
            + prior
        )

    def q_loss(
        self, values: tuple[Float[Tensor, " N"], ...], target: Float[Tensor, " N"]
    ) -> Float[Tensor, " N"]:
        """The Huber loss, summed over heads."""
        return losses.huber_loss(values, target)
