"""The options of multiple choice, and its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from loquent.data.annotated import builtin_questions, placed, questions, rows
from loquent.data.annotated.options import Annotated
from loquent.data.sources import Splits
from loquent.settings import setting
from loquent.values import Record


@dataclass(frozen=True, kw_only=True)
class Options(Annotated):
    """What `task:` may hold when it is multiple_choice."""

    reward: str = setting("correct", "correct: 1 for the right choice; or a function module:name(observation, action, targets)")
    shuffle: bool = setting(False, "the choices of each game are shown in an order of their own; else in that of the data")
    passes: int = setting(1, "so often the choices go by; CONTINUE at the last of the last pass takes it", low=1)
    max_choices: int = setting(26, "questions with more choices are refused by name", low=1)

    def check(self, fields: Mapping[str, Any]) -> Record:
        """The fields of a row from those of a record; ValueError where they are none."""
        found = questions.check(fields)
        if len(found["choices"]) > self.max_choices:
            raise ValueError(f"the question has {len(found['choices'])} choices, more than max_choices = {self.max_choices}")
        return found


@lru_cache(maxsize=16)
def load(options: Options) -> Splits:
    """The rows of all splits with `question`, `facts`, `choices`, `ids` and `answer`; errors as `data.annotated.placed.load`."""
    return rows.limited(placed.load(options, questions.read, options.check, builtin_questions.splits), options.limit)
