"""Cheap players of Wordle, each a rule of one line; what learns should be above them."""

from __future__ import annotations

import numpy as np

from loquent.tasks.wordle.players import Player
from loquent.tasks.wordle.rules import Situation, Uniform
from loquent.tasks.wordle.task import GUESSES


class InOrder(Player):
    """Guesses the words of the list in their order and reads no marks.

    No player that reads no marks has a higher mean return, because it tries another word in every turn.
    """

    kind = "wordle/in_order"

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        turn = GUESSES - situation.left
        return [(1.0, Uniform((self.lexicon.words[turn % len(self.lexicon.words)],)))]


class First(Player):
    """Guesses the first word of the list that fits all marks; the first word where none fits."""

    kind = "wordle/first"

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        return [(1.0, Uniform(self.fitting(situation).all()[:1]))]


class Frequent(Player):
    """Guesses the fitting word whose different letters occur in the most fitting words.

    A word's letters count the fitting words that have them; the first in the list among equals.
    """

    kind = "wordle/frequent"

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        words = self.fitting(situation).all()
        has = np.array([[letter in word for letter in _LETTERS] for word in words])
        return [(1.0, Uniform((words[int((has @ has.sum(0)).argmax())],)))]


_LETTERS = "abcdefghijklmnopqrstuvwxyz"
