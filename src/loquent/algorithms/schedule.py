"""The size of a gradient step as learning goes on: a rise, then constant or half a cosine (Loshchilov and Hutter, arXiv:1608.03983)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loquent.errors import BadSetting
from loquent.logged import Logged
from loquent.settings import check_ranges, setting

LOGGED = {
    "gradient/steps": Logged("steps", "gradient steps made"),
    "learning_rate": Logged("", "AdamW's step at the last gradient step"),
}


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """AdamW's largest step, and how it rises and falls; a base of the configs of learners from given episodes."""

    learning_rate: float = setting(1e-5, "AdamW's largest step; a small model made here learns with 1e-3", source="2210.01241 sec. B.3.1", low=0.0)
    schedule: str = setting(
        "constant", "how the step goes on after warm-up: constant, or along half a cosine to `floor`", choices=("constant", "cosine")
    )
    warmup: int = setting(0, "gradient steps over which the step rises from 0", low=0)
    total_steps: int = setting(0, "gradient steps after which a cosine has come down; needed for cosine only", source="1608.03983 eq. 5", low=0)
    floor: float = setting(
        0.0, "the share of the learning rate a cosine comes down to and goes on with", source="1608.03983 eq. 5", low=0.0, high=1.0
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.schedule == "cosine" and self.total_steps <= self.warmup:
            raise BadSetting(f"Config.total_steps = {self.total_steps}: a cosine needs its length in gradient steps, above warmup = {self.warmup}")


def step_size(step: int, config: ScheduleConfig) -> float:
    """The learning rate of gradient step `step`, counted from 0: a linear rise, then constant or half a cosine down to the floor."""
    if step < config.warmup:
        return config.learning_rate * (step + 1) / config.warmup
    if config.schedule == "constant":
        return config.learning_rate
    gone = min(1.0, (step - config.warmup) / (config.total_steps - config.warmup))
    return config.learning_rate * (config.floor + (1 - config.floor) * (1 + math.cos(math.pi * gone)) / 2)
