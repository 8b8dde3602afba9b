"""Implicit Language Q-Learning per token: action values perturb the policy's choices.

Snell, Kostrikov, Su, Yang and Levine (arXiv:2206.11871). V is an expectile of the target Q of the actions.
The target of Q is r + γ V(next state). Targets never use the values of tokens outside the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from loquent.algorithms.presets import PRESETS
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.offline_learner import CODE, PAPER, PolicyConfig
from loquent.algorithms.value_learning.value_learner import (
    LOGGED,
    LossInputs,
    ValueConfig,
    ValueLearner,
    with_returns,
)
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.tokens.batch import TokenBatch

__all__ = ["ILQL", "LOGGED", "Config"]


@dataclass(frozen=True, kw_only=True)
class Config(ValueConfig, PolicyConfig):
    """Settings of `ilql`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["ilql"]
    tau: float = setting(
        0.7,
        "expectile of V: 0.5 is the mean over the actions in the data; near 1, their maximum",
        source=PAPER,
        low=0.0,
        high=1.0,
    )
    cql_weight: float = setting(
        1e-4, "weight of the conservative term, which lowers Q of other tokens", source=CODE, low=0.0
    )
    mc_returns: bool = setting(
        False, "whether the target of V is the discounted rewards to go, instead of the target Q", source=CODE
    )


class ILQL(ValueLearner):
    """ILQL on the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "ilql"

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch, with the rewards to go where V is drawn towards them; pure."""
        batch = replace(batch, support=None)
        return (
            with_returns(batch, self.config.gamma, self.config.discount) if self.config.mc_returns else batch
        )

    def q_target(self, model: Actor, inputs: LossInputs) -> Float[Tensor, " N"]:
        """The target r + γ V(next state), or r at the end of an episode."""
        return losses.bellman_target(inputs.reward, inputs.next_v, inputs.alive, inputs.discount)

    def v_target(self, inputs: LossInputs) -> Float[Tensor, " N"]:
        """The target Q of the action, or with `mc_returns` the rewards to go."""
        return inputs.returns if self.config.mc_returns else inputs.target_q
