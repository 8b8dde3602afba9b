"""The options of multiple choice, and its rows."""

from __future__ import annotations

from dataclasses import dataclass

from loquent.data.annotated.options import Annotated
from loquent.settings import setting


@dataclass(frozen=True, kw_only=True)
class Options(Annotated):
    """What `task:` may hold when it is multiple_choice."""

    reward: str = setting("correct", "correct: 1 for the right choice; or a function module:name(observation, action, targets)")
    shuffle: bool = setting(False, "the choices of each game are shown in an order of their own; else in that of the data")
    passes: int = setting(1, "so often the choices go by; CONTINUE at the last of the last pass takes it", low=1)
