"""Values by Monte-Carlo returns: Q and V are drawn towards the discounted rewards that followed, and the policy is perturbed by them.

The baseline of LMRL-Gym (arXiv:2311.18232 sec. 4): no value is ever learned from another, so it is one step of policy improvement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from loquent.algorithms.value_learner import LOGGED, PolicyConfig, Seen, ValueConfig, ValueLearner, with_returns
from loquent.models.actor import Actor
from loquent.models.tokens import TokenBatch
from loquent.settings import setting

__all__ = ["LOGGED", "Config", "MonteCarlo"]


@dataclass(frozen=True, kw_only=True)
class Config(ValueConfig, PolicyConfig):
    """What `algorithm:` may hold when `kind: monte_carlo`."""

    cql_weight: float = setting(0.01, "weight of the term that keeps Q low for tokens not taken", source="LMRL-Gym", low=0.0)


class MonteCarlo(ValueLearner):
    """Values by rewards to go; with `tau` above 0.5 V leans towards the best of them."""

    Config: ClassVar[type] = Config
    name = "monte_carlo"

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch with the discounted rewards to go; pure."""
        return with_returns(super().prepare(batch), self.config.gamma, self.config.discount)

    def q_target(self, model: Actor, seen: Seen) -> Float[Tensor, " N"]:
        """The rewards to go."""
        return seen.returns

    def v_target(self, seen: Seen) -> Float[Tensor, " N"]:
        """The same."""
        return seen.returns
