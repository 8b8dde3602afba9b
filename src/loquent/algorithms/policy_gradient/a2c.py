"""A2C for language models: one gradient step of the advantage actor-critic on each collection.

Source: arXiv:1602.01783, algorithm S3 and sec. 4, with all episodes of a collection in one synchronous step,
and with advantages by GAE. The reward of a turn is on its last token, and `reward - beta * kl` is computed
per token (arXiv:2210.01241 sec. 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.actor_critic import ActorCritic
from loquent.algorithms.policy_gradient.critic_rate import CriticRateConfig
from loquent.algorithms.presets import PRESETS
from loquent.core.algorithm import StepSettings
from loquent.core.settings import redefault, setting
from loquent.core.values import Record

LOGGED = logged_keys.BUILT_IN["a2c"]


@dataclass(frozen=True, kw_only=True)
class Config(CriticRateConfig):
    """Settings of `a2c`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["a2c"]
    optimizer: str = redefault(StepSettings, "optimizer", "rmsprop", source="1602.01783 sec. 4")
    learning_rate: float = redefault(
        StepSettings, "learning_rate", 1e-6, source="RL4LMs, its recipe for film reviews"
    )
    lam: float = setting(
        1.0,
        "λ of GAE per token; 1: the return minus the value",
        source="stable-baselines3",
        low=0.0,
        high=1.0,
    )
    normalize_advantages: bool = setting(
        False, "centre and scale advantages over the collection", source="stable-baselines3"
    )
    value_coefficient: float = redefault(
        CriticRateConfig, "value_coefficient", 0.5, source="stable-baselines3"
    )
    entropy_coefficient: float = setting(
        0.0, "weight of the entropy bonus", source="stable-baselines3; 1602.01783 has 0.01", low=0.0
    )
    ratio: str = setting(
        "support",
        "probabilities that learn: in the support that tokens are drawn from, or raw",
        choices=("support", "raw"),
    )


def surrogate(logprob: Float[Tensor, " N"], advantage: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """The loss -Â_t log π(a_t | s_t) per token (1602.01783 algorithm S3); its gradient is the policy's."""
    return -advantage * logprob


class A2C(ActorCritic):
    """A2C on the policy and the critic of an `Actor`, without dropout."""

    Config: ClassVar[type] = Config
    name = "a2c"
    per_step = (
        "policy/loss",
        "policy/entropy",
        "policy/ratio",
        "policy/kl_old",
        "critic/loss",
        "gradient/norm",
    )

    def surrogate(
        self, new: Float[Tensor, " N"], old: Float[Tensor, " N"], advantage: Float[Tensor, " N"]
    ) -> tuple[Float[Tensor, " N"], dict[str, Float[Tensor, " N"]]]:
        """The policy's loss, and the ratio."""
        return surrogate(new, advantage), {"policy/ratio": (new - old).exp()}
