"""Players of Wordle: at random, consistently, and a mixture of both. Their streams are those of the question."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.agent import Answer, Asked
from loquent.errors import LoquentError
from loquent.task import Task
from loquent.tasks.wordle.marks import Board, Lexicon
from loquent.tasks.wordle.task import Wordle


class Player:
    """Says a word that fits all marks with probability `smart`, else any word of the list; uniformly in both cases."""

    def __init__(self, task: Task, smart: float, name: str) -> None:
        if not isinstance(task, Wordle):
            raise LoquentError(f"{name} plays wordle, not {task.identity}")
        self.lexicon: Lexicon = task.lexicon
        self.smart = smart
        self.name = name

    def answer(self, asked: Sequence[Asked]) -> list[Answer]:
        """One guess per game."""
        return [Answer(self._guess(one)) for one in asked]

    def _guess(self, asked: Asked) -> str:
        rng = asked.key.generator()
        board: Board = asked.observation.fields["board"] if rng.random() < self.smart else ()
        fitting = self.lexicon.fits(board)
        return self.lexicon.words[fitting[rng.integers(len(fitting))]]


def consistent(task: Task) -> Player:
    """Says a word that fits all marks so far, each equally likely."""
    return Player(task, 1.0, "wordle/consistent")


def random(task: Task) -> Player:
    """Says any word of the list, each equally likely."""
    return Player(task, 0.0, "wordle/random")


def half(task: Task) -> Player:
    """Says a word that fits all marks in half of its turns, any word in the others."""
    return Player(task, 0.5, "wordle/half")
