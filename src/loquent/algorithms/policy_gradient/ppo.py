"""PPO for language models: clipped ratios per token, GAE, and a penalty on the divergence from a reference.

This is proximal policy optimisation (arXiv:1707.06347v2) as in arXiv:2210.01241 sec. 3. Every token of an
answer is an action. The reward of a turn is on its last token, and `reward - beta * kl` is computed per
token. Gradients are exact sums over micro-batches.
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
from loquent.algorithms.shared import losses
from loquent.core.settings import redefault, setting
from loquent.core.values import Record
from loquent.errors import BadSetting

LOGGED = logged_keys.BUILT_IN["ppo"]


@dataclass(frozen=True, kw_only=True)
class Config(CriticRateConfig):
    """Settings of `ppo`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["ppo"]
    clip: float = setting(
        0.2, "ε: the ratio of a token is clipped to [1 - ε, 1 + ε]", source="1707.06347 sec. 6.1", low=0.0
    )
    value_clip: float | None = setting(
        None,
        "clip range of values around those at collection; none: no clipping",
        source="2005.12729 sec. 3",
        low=0.0,
    )
    epochs: int = setting(5, "passes over one batch of episodes", source="2210.01241 sec. B.3.1", low=1)
    minibatch: int = setting(16, "episodes in one gradient step", low=1)
    value_coefficient: float = redefault(
        CriticRateConfig, "value_coefficient", 0.5, source="2210.01241 sec. B.3.1"
    )
    entropy_coefficient: float = setting(
        0.0, "weight of the entropy bonus", source="2210.01241 sec. B.3.1", low=0.0
    )
    stop_kl: float | None = setting(
        None,
        "a minibatch with a larger kl_old ends the update; none: no limit",
        source="stable-baselines3",
        low=0.0,
    )
    critic_warmup: int = setting(
        0,
        "updates at the beginning in which the critic learns alone, because advantages by an untrained one "
        "are noise; critic_rate_warmup warms up its learning rate",
        source="verl, trainer.critic_warmup",
        low=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.critic_warmup and not self.value_coefficient:
            raise BadSetting(
                f"Config.critic_warmup = {self.critic_warmup} trains the critic, but value_coefficient = 0 "
                "gives it no loss; set value_coefficient above 0, or critic_warmup to 0"
            )

    def idle(self, updates: int, episodes: int) -> str:
        """Why a learning rate is 0, or the policy never learns, as a sentence; "" if neither is so."""
        reasons = [super().idle(updates, episodes)]
        if self.learning_rate and 0 < updates <= self.critic_warmup:
            reasons.append(
                f"critic_warmup = {self.critic_warmup} of {updates} updates: the critic learns alone, and no "
                f"update changes the policy; set critic_warmup below {updates}"
            )
        return "; ".join(filter(None, reasons))


class PPO(ActorCritic):
    """PPO on the policy and the critic of an `Actor`, without dropout."""

    Config: ClassVar[type] = Config
    name = "ppo"
    per_step = (
        "policy/loss",
        "policy/entropy",
        "policy/ratio",
        "policy/clip_fraction",
        "policy/kl_old",
        "critic/loss",
        "gradient/norm",
    )

    def surrogate(
        self, new: Float[Tensor, " N"], old: Float[Tensor, " N"], advantage: Float[Tensor, " N"]
    ) -> tuple[Float[Tensor, " N"], dict[str, Float[Tensor, " N"]]]:
        """The negated clipped surrogate L^CLIP, the ratio, and whether it is clipped."""
        policy, ratio, clipped = losses.clipped_surrogate(new, old, advantage, self.config.clip)
        return policy, {"policy/ratio": ratio, "policy/clip_fraction": clipped}

    @property
    def learns_policy(self) -> bool:
        """Whether the first `critic_warmup` updates are over."""
        return self.updates >= int(self.config.critic_warmup)

    def accepts(self, kl_old: Tensor | float) -> bool:
        """Whether the minibatch's kl_old is at most `stop_kl`."""
        return self.config.stop_kl is None or float(kl_old) <= self.config.stop_kl

    @property
    def value_clip(self) -> float | None:
        """The clip range of values around those at collection; None: no clipping."""
        clip: float | None = self.config.value_clip
        return clip
