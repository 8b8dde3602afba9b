"""A person who plays Wordle at the terminal, and may ask another player for a hint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.agent import Answer, Asked, make
from loquent.episode import Episode
from loquent.settings import setting
from loquent.task import Task
from loquent.values import Record


@dataclass(frozen=True, kw_only=True)
class PersonOptions:
    """What wordle/person may be told."""

    hint: str | Record = setting(
        "wordle/optimal", "the agent whose guess is made when ? is typed, as a name or {kind: NAME, OPTION: VALUE}; empty: none"
    )


class Person:
    """You, at the terminal: ? makes the guess of the hint's player, and a word that is no guess is asked for again."""

    Options: ClassVar[type] = PersonOptions

    def __init__(self, task: Task, options: Any = None) -> None:
        self.name = "wordle/person"
        hint = (options or PersonOptions()).hint
        self._human = make("human", task, {"hint": hint, "again": True})

    def answer(self, asked: Sequence[Asked]) -> list[Answer]:
        """One guess per game; PlayerLeft where the person leaves."""
        said: list[Answer] = self._human.answer(asked)
        return said

    def farewell(self, episode: Episode) -> None:
        """Show how the game ended."""
        self._human.farewell(episode)
