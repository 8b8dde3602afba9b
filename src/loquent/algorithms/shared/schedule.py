"""Schedule of the learning rate: linear warm-up, then constant or cosine decay.

Source of the cosine decay: Loshchilov and Hutter, arXiv:1608.03983.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from loquent.core.algorithm import AlgorithmConfig
from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig(AlgorithmConfig):
    """The learning rate of AdamW and its schedule; base of settings of supervised and offline learners."""

    learning_rate: float = setting(
        1e-5,
        "peak learning rate of AdamW; 1e-3 suits small models trained from scratch",
        source="2210.01241 sec. B.3.1",
        low=0.0,
    )
    schedule: str = setting(
        "constant",
        "learning rate after warm-up: constant, or cosine decay to `floor`",
        choices=("constant", "cosine"),
    )
    warmup: int = setting(0, "gradient steps of linear warm-up from 0", low=0)
    total_steps: int = setting(
        0,
        "gradient step at which the cosine reaches `floor`; needed for cosine only",
        source="1608.03983 eq. 5",
        low=0,
    )
    floor: float = setting(
        0.0,
        "share of the learning rate at the end of the cosine and after it",
        source="1608.03983 eq. 5",
        low=0.0,
        high=1.0,
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.schedule == "cosine" and self.total_steps <= self.warmup:
            raise BadSetting(
                f"Config.total_steps = {self.total_steps} with schedule = 'cosine'; set it above "
                f"warmup = {self.warmup}"
            )


def step_size(step: int, config: ScheduleConfig) -> float:
    """The learning rate of gradient step `step`, counted from 0."""
    if step < config.warmup:
        return config.learning_rate * (step + 1) / config.warmup
    if config.schedule == "constant":
        return config.learning_rate
    progress = min(1.0, (step - config.warmup) / (config.total_steps - config.warmup))
    return config.learning_rate * (config.floor + (1 - config.floor) * (1 + math.cos(math.pi * progress)) / 2)
