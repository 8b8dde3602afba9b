"""Settings of gradient steps: optimizer, learning rate and its schedule, weight decay, clipping.

A schedule counts gradient steps. Source of the cosine decay: Loshchilov and Hutter, arXiv:1608.03983.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from loquent.core.algorithm import AlgorithmConfig
from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting

OPTIMIZERS = ("adamw", "rmsprop", "sgd")
SCHEDULES = ("constant", "linear", "cosine")


@dataclass(frozen=True, kw_only=True)
class StepSettings(AlgorithmConfig):
    """Settings of gradient steps; base of the settings of all learners that take them."""

    learning_rate: float = setting(
        1e-5,
        "peak learning rate; 1e-3 suits small models trained from scratch",
        source="2210.01241 sec. B.3.1",
        low=0.0,
    )
    optimizer: str = setting("adamw", "the optimizer; weight_decay counts for adamw only", choices=OPTIMIZERS)
    weight_decay: float = setting(
        0.01, "weight decay of AdamW, on matrices only", source="1711.05101, PyTorch's default", low=0.0
    )
    max_grad_norm: float | None = setting(
        1.0, "largest norm of the gradient; none: no clipping", source="transformers, Trainer", low=0.0
    )
    schedule: str = setting(
        "constant",
        "learning rate after the warm-up: constant, or linear or cosine decay to `floor`",
        choices=SCHEDULES,
    )
    warmup: int = setting(0, "gradient steps of linear warm-up from 0", low=0)
    total_steps: int = setting(
        0,
        "gradient step at which the decay reaches `floor`; 0: the last one of the run",
        source="1608.03983 eq. 5",
        low=0,
    )
    floor: float = setting(
        0.0,
        "share of the learning rate at the end of the decay and after it",
        source="1608.03983 eq. 5",
        low=0.0,
        high=1.0,
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.schedule == "constant":
            return
        if 0 < self.total_steps <= self.warmup:
            raise BadSetting(
                f"Config.total_steps = {self.total_steps} with schedule = {self.schedule!r}; set it above "
                f"warmup = {self.warmup}, to the gradient steps of the run, or to 0 for the whole run"
            )
        if not self.total_steps and not self.steps_of_update(1):
            raise BadSetting(
                f"Config.total_steps = 0 with schedule = {self.schedule!r}; the number of turns decides how "
                "many gradient steps an update has, so set total_steps to those of the run"
            )

    def steps_of_update(self, episodes: int) -> int:
        """The gradient steps of an update from so many episodes of one row; 0: something else decides."""
        return self.epochs * math.ceil(episodes / (self.minibatch or episodes))

    def for_run(self, updates: int, episodes: int) -> Self:
        """The settings with the gradient steps of the run as `total_steps`, if it is 0 and needed."""
        if self.schedule == "constant" or self.total_steps:
            return self
        return replace(self, total_steps=max(updates * self.steps_of_update(episodes), self.warmup + 1))

    def idle(self, updates: int, episodes: int) -> str:
        """Why the learning rate is 0 before the last update, as a sentence; "" if it is not, or unknown."""
        each = self.steps_of_update(episodes)
        if updates and not self.learning_rate:
            return "learning_rate = 0: no update changes a weight"
        if self.schedule == "constant" or self.floor or not 0 < self.total_steps <= (updates - 1) * each:
            return ""
        return (
            f"schedule = {self.schedule!r} with total_steps = {self.total_steps} and floor = 0: the learning "
            f"rate is 0 after update {math.ceil(self.total_steps / each)} of {updates}, as an update has "
            f"{each} gradient steps; set total_steps to 0 for the whole run, or floor above 0"
        )

    def spread_over_run(self) -> str:
        """Which settings are a schedule over all updates, as a phrase for errors; "" if none is."""
        if self.schedule == "constant" or self.total_steps:
            return ""
        return f"schedule = {self.schedule!r} with total_steps = 0 (the rate falls over the whole run)"


def step_size(step: int, settings: StepSettings) -> float:
    """The learning rate of gradient step `step`, from 0; BadSetting if the schedule has no end."""
    peak, warmup, total = settings.learning_rate, settings.warmup, settings.total_steps
    if step < warmup:
        return peak * (step + 1) / warmup
    if settings.schedule == "constant":
        return peak
    if not total:
        raise BadSetting(
            f"Config.total_steps = 0 with schedule = {settings.schedule!r} outside a run; set it to the "
            "number of gradient steps, or take Config.for_run(updates, episodes)"
        )
    if settings.schedule == "linear":
        share = max(0, total - step) / (total - warmup)
    else:
        share = (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup)))) / 2
    return peak * (settings.floor + (1 - settings.floor) * share)
