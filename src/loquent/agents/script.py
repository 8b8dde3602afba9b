"""An agent that says the texts of a list, one after another, whatever it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from loquent.core.agent import Answer, Question
from loquent.core.settings import setting
from loquent.core.task import Task
from loquent.errors import BadSetting


@dataclass(frozen=True, kw_only=True)
class ScriptOptions:
    """Options of the agent `script`."""

    texts: tuple[str, ...] = setting(why="the answers in their order; after the last one it says nothing")

    def __post_init__(self) -> None:
        if not self.texts:
            raise BadSetting("texts is empty; give at least one answer")


class Script:
    """Says the next text of its list in each turn, and "" after the last one."""

    Options: ClassVar[type] = ScriptOptions

    def __init__(self, task: Task | None, options: ScriptOptions) -> None:
        self.name, self.texts = "script", options.texts

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question."""
        return [Answer(self._next(question)) for question in asked]

    def _next(self, question: Question) -> str:
        number = sum(turn.seat == question.observation.seat for turn in question.turns)
        return self.texts[number] if number < len(self.texts) else ""
