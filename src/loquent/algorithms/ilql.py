"""Implicit Language Q-Learning per token: values of what was done at its best, and a policy that is perturbed by them in acting.

Snell, Kostrikov, Su, Yang and Levine (arXiv:2206.11871). V is an expectile of the target Q of the tokens that were taken, Q is drawn
towards r + γ V of the next state; no token that was never taken is ever asked for its value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from loquent.algorithms import value_losses as losses
from loquent.algorithms.value_learner import CODE, LOGGED, PAPER, PolicyConfig, Seen, ValueConfig, ValueLearner, with_returns
from loquent.models.actor import Actor
from loquent.models.tokens import TokenBatch
from loquent.settings import setting

__all__ = ["ILQL", "LOGGED", "Config"]


@dataclass(frozen=True, kw_only=True)
class Config(ValueConfig, PolicyConfig):
    """What `algorithm:` may hold when `kind: ilql`."""

    tau: float = setting(0.7, "expectile of V: 0.5 is the mean of what was done, towards 1 the best of it", source=PAPER, low=0.0, high=1.0)
    cql_weight: float = setting(1e-4, "weight of the term that keeps Q low for tokens not taken", source=CODE, low=0.0)
    mc_returns: bool = setting(False, "V is drawn towards the discounted rewards to go, not towards the target Q", source=CODE)


class ILQL(ValueLearner):
    """ILQL over the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "ilql"

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch, with the rewards to go where V is drawn towards them; pure."""
        batch = replace(batch, support=None)
        return with_returns(batch, self.config.gamma, self.config.discount) if self.config.mc_returns else batch

    def q_target(self, model: Actor, seen: Seen) -> Float[Tensor, " N"]:
        """R + γ V(next state), the state's value left out after an end."""
        return losses.bellman_target(seen.reward, seen.next_v, seen.alive, seen.discount)

    def v_target(self, seen: Seen) -> Float[Tensor, " N"]:
        """The target Q of the token taken."""
        return seen.returns if self.config.mc_returns else seen.target_q
