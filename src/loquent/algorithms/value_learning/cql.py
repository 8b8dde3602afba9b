"""Conservative Q-learning per token: the target of Q is r + γ max_a Q(next state, a).

A term of the loss lowers Q of other tokens.

Source: Kumar, Zhou, Tucker and Levine (arXiv:2006.04779), in the variant of ILQL's paper. V is learned too,
because acting uses advantages. It is an expectile of the target Q of the actions, by default their mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from loquent.algorithms.presets import PRESETS
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.offline_learner import CODE, PolicyConfig
from loquent.algorithms.value_learning.value_learner import LOGGED, LossInputs, ValueConfig, ValueLearner
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.models.actor import Actor

__all__ = ["CQL", "LOGGED", "Config"]


@dataclass(frozen=True, kw_only=True)
class Config(ValueConfig, PolicyConfig):
    """Settings of `cql`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["cql"]
    cql_weight: float = setting(
        0.1, "weight of the conservative term, which lowers Q of other tokens", source=CODE, low=0.0
    )


class CQL(ValueLearner):
    """CQL on the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "cql"

    def q_target(self, model: Actor, inputs: LossInputs) -> Float[Tensor, " N"]:
        """The target r + γ max_a target Q(next state, a).

        After the last token of a row, it also has this form if the episode continued.
        """
        best = self.over_tokens(model, inputs, lambda q: q.amax(-1))
        return losses.bellman_target(inputs.reward, best, inputs.alive, inputs.discount)
