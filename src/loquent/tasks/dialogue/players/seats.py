"""The base class of the agents of dialogue: one answer for each question, by the task's state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from loquent.core.agent import Answer, Question
from loquent.core.task import NoOptions, Task
from loquent.errors import BadSetting, BrokenAgent, LoquentError
from loquent.tasks.dialogue.game.options import ENV_STOPS
from loquent.tasks.dialogue.state import State
from loquent.tasks.dialogue.task import Dialogue


class Player(ABC):
    """An agent of one or more seats. A subclass defines `text`."""

    Options: ClassVar[type] = NoOptions
    kind: ClassVar[str]
    seats: ClassVar[tuple[str, ...]]  # the seats that it can take
    reads_row: ClassVar[bool] = True  # as an answerer; False: it reads the features of the image only

    def __init__(self, task: Task, options: Any = None) -> None:
        self.name = self.kind
        if not isinstance(task, Dialogue):
            raise LoquentError(f"{self.name} plays dialogue, not {task.identity}; choose the task dialogue")
        self.task, self.options = task, self.Options() if options is None else options

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One text per question; BrokenAgent for a seat that is not this agent's."""
        for question in asked:
            if question.observation.seat not in self.seats:
                seats = " or ".join(self.seats)
                what = f"{self.name} was asked for the seat {question.observation.seat!r}"
                raise BrokenAgent(f"{what}; it plays {seats} only")
        return [Answer(self.text(question, state_of(question))) for question in asked]

    @abstractmethod
    def text(self, question: Question, state: State) -> str:
        """The answer to one question."""


def require_no_cutoff(player: Player, setting: str) -> None:
    """BadSetting where the task compares the judge's numbers with the percentile of the first rank."""
    if player.task.options.mode == ENV_STOPS:
        raise BadSetting(
            f"{player.name}: {setting} is no percentile, so no game of mode = 'env_stops' could end by it; "
            "set task.mode to 10_stop or agent_stops"
        )


def state_of(question: Question) -> State:
    """The state of the game that a question belongs to."""
    assert isinstance(question.state, State)
    return question.state
