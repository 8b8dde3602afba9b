"""The base class of players of Wordle, whose rules are mixtures of uniform distributions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from loquent.core.agent import Answer, Question, make
from loquent.core.task import NoOptions, Task
from loquent.core.values import Record
from loquent.errors import BadSetting, LoquentError
from loquent.tasks.wordle import rows
from loquent.tasks.wordle.exact import value
from loquent.tasks.wordle.lexicon import Lexicon, lexicon
from loquent.tasks.wordle.rules import Situation, Uniform
from loquent.tasks.wordle.task import Wordle


class Player(ABC):
    """An agent that plays Wordle by a rule. A subclass defines the `parts` of its mixture."""

    Options: ClassVar[type] = NoOptions
    kind: ClassVar[str]

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        self.name = name or self.kind
        if not isinstance(task, Wordle):
            raise LoquentError(
                f"{self.name} plays wordle, not {task.identity}; choose the task wordle or another agent"
            )
        self.options = self.Options() if options is None else options
        self.task, self.lexicon = task, task.lexicon

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One guess per question."""
        return [Answer(self.draw(situation_of(question), question.key.generator())) for question in asked]

    def draw(self, situation: Situation, rng: np.random.Generator) -> str:
        """A guess, drawn from the mixture."""
        chosen, parts = rng.random(), self.parts(situation)
        for weight, words in parts[:-1]:
            if chosen < weight:
                return words.draw(rng)
            chosen -= weight
        return parts[-1][1].draw(rng)

    @abstractmethod
    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        """The mixture: probabilities with sum 1, each with a uniform distribution that is not empty."""

    @property
    def memoryless(self) -> bool:
        """Whether all later choices depend only on the fitting words and the number of remaining turns."""
        return True

    def exact_return(self, most: int) -> float:
        """The exact mean return over all words of the task's list as secrets.

        Raises:
            LoquentError: there are more than `most` situations.
        """
        return value(self, most).mean

    def fitting(self, situation: Situation, among: Lexicon | None = None) -> Uniform:
        """The words of a list (default: the task's) that fit the board; all its words where none fits."""
        lexicon = among or self.lexicon
        numbers = lexicon.fits(situation.board)
        return Uniform(lexicon.words, numbers if len(numbers) else None)

    def player(self, chosen: str | Record, option: str) -> Player:
        """The player of Wordle that an option names."""
        agent = make(chosen, self.task, place=f"{self.kind}.{option}")
        if not isinstance(agent, Player):
            raise BadSetting(
                f"{self.kind}.{option}: {agent.name} has no rule of Wordle; name a wordle/ agent"
            )
        return agent

    def word_list(self, words: str) -> Lexicon:
        """The lexicon of an option `words`; the task's lexicon where it is empty."""
        return lexicon(rows.read(words), self.lexicon.rule) if words else self.lexicon


def situation_of(asked: Question) -> Situation:
    """The situation in a question."""
    seat, fields = asked.observation.seat, asked.observation.fields
    return Situation(
        fields["board"], tuple(turn.text for turn in asked.turns if turn.seat == seat), fields["left"]
    )
