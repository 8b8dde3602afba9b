"""A person who asks at the terminal, sees how far the image is known, and may ask for a hint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core.agent import Answer, Question, make
from loquent.core.episode import Episode
from loquent.core.settings import setting
from loquent.core.task import Task
from loquent.core.values import Record
from loquent.tasks.dialogue.terminal import standing


@dataclass(frozen=True, kw_only=True)
class PersonOptions:
    """The options of dialogue/person."""

    hint: str | Record = setting(
        "",
        "the agent that asks for you when you type ?, as a name or {kind: NAME, OPTION: VALUE}, such as "
        "dialogue/careful; empty: none",
    )


class Person:
    """You, at the terminal: after each answer you see where the image stands among all images."""

    Options: ClassVar[type] = PersonOptions

    def __init__(self, task: Task, options: Any = None) -> None:
        self.name = "dialogue/person"
        hint = (options or PersonOptions()).hint
        self._human = make("human", task, {"hint": hint, "again": True})

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One question per request, after the percentile so far; PlayerLeft where the person leaves."""
        for question in asked:
            print(standing(question.observation), flush=True)
        answers: list[Answer] = self._human.answer(asked)
        return answers

    def farewell(self, episode: Episode) -> None:
        """Show the end of the episode."""
        self._human.farewell(episode)
