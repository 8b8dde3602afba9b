"""The base class of the agents of comments: the answers of one seat at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from loquent.core.agent import Answer, Question
from loquent.core.task import NoOptions, Task
from loquent.errors import BrokenAgent, LoquentError
from loquent.tasks.comments.state import State
from loquent.tasks.comments.task import Comments


class Player(ABC):
    """An agent of one or more seats. A subclass defines `texts`."""

    Options: ClassVar[type] = NoOptions
    kind: ClassVar[str]
    seats: ClassVar[tuple[str, ...]]  # the seats that it can take

    def __init__(self, task: Task, options: Any = None) -> None:
        self.name = self.kind
        if not isinstance(task, Comments):
            raise LoquentError(f"{self.name} plays comments, not {task.identity}; choose the task comments")
        self.task, self.options = task, self.Options() if options is None else options

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One text per question; BrokenAgent for a seat that is not this agent's."""
        answers: dict[int, str] = {}
        for seat in dict.fromkeys(question.observation.seat for question in asked):
            if seat not in self.seats:
                what = f"{self.name} was asked for the seat {seat!r}"
                raise BrokenAgent(f"{what}; it plays {' or '.join(self.seats)} only")
            places = [place for place, question in enumerate(asked) if question.observation.seat == seat]
            answers |= zip(places, self.texts(seat, [asked[place] for place in places]), strict=True)
        return [Answer(answers[place]) for place in range(len(asked))]

    @abstractmethod
    def texts(self, seat: str, asked: Sequence[Question]) -> list[str]:
        """The answers of a seat."""


def state_of(question: Question) -> State:
    """The state of the episode that a question belongs to."""
    assert isinstance(question.state, State)
    return question.state


def comments_of(asked: Sequence[Question]) -> list[str]:
    """The comments that a moderator or a voter is asked about."""
    return [state_of(question).comment for question in asked]
