"""A human player of Wordle at the terminal, who may ask another player for a hint."""

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
    """The options of wordle/person."""

    hint: str | Record = setting(
        "wordle/optimal",
        "the agent that guesses for you when you type ?, as a name or {kind: NAME, OPTION: VALUE}; "
        "empty: none",
    )


class Person:
    """You, at the terminal. Typing ? makes the guess of the hint's player.

    After an invalid word you are asked again.
    """

    Options: ClassVar[type] = PersonOptions

    def __init__(self, task: Task, options: Any = None) -> None:
        self.name = "wordle/person"
        hint = (options or PersonOptions()).hint
        self._human = make("human", task, {"hint": hint, "again": True})

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One guess per question; PlayerLeft where the person leaves."""
        answers: list[Answer] = self._human.answer(asked)
        return answers

    def farewell(self, episode: Episode) -> None:
        """Show the end of the episode."""
        self._human.farewell(episode)
