"""Conservative Q-learning per token: Q is drawn towards r + γ max_a Q of the next state, and kept low for tokens never taken.

Kumar, Zhou, Tucker and Levine (arXiv:2006.04779), as ILQL's paper compares itself with it. V is learned beside it (an expectile of
the target Q of tokens taken, the mean by default) because acting may clip advantages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from loquent.algorithms import value_losses as losses
from loquent.algorithms.value_learner import CODE, LOGGED, PolicyConfig, Seen, ValueConfig, ValueLearner
from loquent.models.actor import Actor
from loquent.settings import setting

__all__ = ["CQL", "LOGGED", "Config"]


@dataclass(frozen=True, kw_only=True)
class Config(ValueConfig, PolicyConfig):
    """What `algorithm:` may hold when `kind: cql`."""

    cql_weight: float = setting(0.1, "weight of the term that keeps Q low for tokens not taken", source=CODE, low=0.0)


class CQL(ValueLearner):
    """CQL over the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "cql"

    def q_target(self, model: Actor, seen: Seen) -> Float[Tensor, " N"]:
        """R + γ max_a target Q(next state, a); that of a row's last state too, where the game went on."""
        best = self.over_tokens(model, seen, lambda q: q.amax(-1))
        return losses.bellman_target(seen.reward, best, seen.alive, seen.discount)
