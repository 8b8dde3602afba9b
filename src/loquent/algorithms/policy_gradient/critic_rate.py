"""The settings of learners whose policy and critic learn in the same gradient steps, each at its own rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loquent.algorithms.policy_gradient.actor_critic import ActorCriticConfig
from loquent.core.algorithm import SCHEDULES, RateSettings
from loquent.core.settings import check_ranges, setting
from loquent.core.values import EMPTY
from loquent.errors import BadSetting

SAME = "same"
OWN = {
    "critic_learning_rate": "learning_rate",
    "critic_schedule": "schedule",
    "critic_rate_warmup": "warmup",
}
"""The settings of the critic's rate, and those of the policy's that they replace."""


@dataclass(frozen=True, kw_only=True)
class CriticRateConfig(ActorCriticConfig):
    """The learning rate of the critic, and the weight of its loss.

    The critic's parameters are its head and, if it is a network, its trunk.
    """

    value_coefficient: float = setting(0.5, "weight of the loss of the critic", low=0.0)
    critic_learning_rate: float | None = setting(
        None, "peak learning rate of the critic; none: that of the policy; OpenRLHF: 9 times it", low=0.0
    )
    critic_schedule: str = setting(
        SAME,
        "the critic's learning rate after its warm-up; same: the policy's schedule",
        choices=(SAME, *SCHEDULES),
    )
    critic_rate_warmup: float | None = setting(
        None,
        "gradient steps of linear warm-up of the critic's learning rate from 0; below 1: their share of "
        "total_steps; none: those of the policy",
        low=0.0,
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self._own and not self.value_coefficient:
            name, value = next(iter(self._own.items()))
            raise BadSetting(
                f"Config.{name} = {value!r} is for the critic, but value_coefficient = 0 gives it no loss; "
                f"set value_coefficient above 0, or leave {name} out"
            )
        try:
            _ = self.own_rates
        except BadSetting as error:
            names = "critic_schedule and critic_rate_warmup"
            raise BadSetting(f"{error} (schedule and warmup of the critic: {names})") from None
        super().__post_init__()

    @property
    def _own(self) -> dict[str, Any]:
        """The settings of the critic's rate that are not the policy's."""
        values = {name: getattr(self, name) for name in OWN}
        return {name: value for name, value in values.items() if value not in (None, SAME)}

    @property
    def own_rates(self) -> Mapping[str, RateSettings]:
        """The rate of the critic, unless all of it is the policy's."""
        if not self._own:
            return EMPTY
        shared = {name: getattr(self, name) for name in (*OWN.values(), "total_steps", "floor")}
        return {"critic": RateSettings(**shared | {OWN[name]: value for name, value in self._own.items()})}

    @property
    def _schedule(self) -> str:
        own = {name: value for name, value in self._own.items() if name != "critic_learning_rate"}
        return " and ".join([super()._schedule, *(f"{name} = {value!r}" for name, value in own.items())])
