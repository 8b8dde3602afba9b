"""Values by Monte-Carlo returns: the targets of Q and V are the discounted rewards to go.

Acting uses these values. This is a baseline of LMRL-Gym (arXiv:2311.18232 sec. 4). Targets never use other
values, so it is one step of policy improvement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from loquent.algorithms.value_learning.offline_learner import PolicyConfig
from loquent.algorithms.value_learning.value_learner import (
    LOGGED,
    LossInputs,
    ValueConfig,
    ValueLearner,
    with_returns,
)
from loquent.core.settings import setting
from loquent.models.actor import Actor
from loquent.models.tokens.batch import TokenBatch

__all__ = ["LOGGED", "Config", "MonteCarlo"]


@dataclass(frozen=True, kw_only=True)
class Config(ValueConfig, PolicyConfig):
    """Settings of `monte_carlo`."""

    cql_weight: float = setting(
        0.01, "weight of the conservative term, which lowers Q of other tokens", source="LMRL-Gym", low=0.0
    )


class MonteCarlo(ValueLearner):
    """Values by rewards to go. With `tau` above 0.5, V is nearer to the highest of them."""

    Config: ClassVar[type] = Config
    name = "monte_carlo"

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch with the discounted rewards to go; pure."""
        return with_returns(super().prepare(batch), self.config.gamma, self.config.discount)

    def q_target(self, model: Actor, inputs: LossInputs) -> Float[Tensor, " N"]:
        """The rewards to go."""
        return inputs.returns

    def v_target(self, inputs: LossInputs) -> Float[Tensor, " N"]:
        """The rewards to go."""
        return inputs.returns
