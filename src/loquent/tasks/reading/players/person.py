"""A person who reads by asking at the terminal, with hints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core.agent import Answer, Question, make
from loquent.core.episode import Episode
from loquent.core.settings import setting
from loquent.core.task import Task
from loquent.core.values import Record


@dataclass(frozen=True, kw_only=True)
class PersonOptions:
    """The options of reading/person."""

    hint: str | Record = setting(
        "expert",
        "the agent that gives a command for you when you type ?, as a name or {kind: NAME, OPTION: VALUE}; "
        "empty: none",
    )


class Person:
    """You, at the terminal: p, n, s and cf WORD are short for previous, next, stop and ctrl+f WORD.

    Typing ? gives the command of the hint's agent. After an invalid command you are asked again.
    """

    Options: ClassVar[type] = PersonOptions

    def __init__(self, task: Task, options: Any = None) -> None:
        self.name = "reading/person"
        hint = (options or PersonOptions()).hint
        self._human = make("human", task, {"hint": hint, "again": True})

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One command per question, after the number of commands left; PlayerLeft where the person leaves."""
        for question in asked:
            fields = question.observation.fields
            if "ended" not in fields:
                print(f"{fields['left']} commands left", flush=True)
        answers: list[Answer] = self._human.answer(asked)
        return answers

    def farewell(self, episode: Episode) -> None:
        """Show the end of the episode."""
        self._human.farewell(episode)
