"""The optimal player of Wordle, found by enumeration: it minimises the mean number of wrong guesses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.task import Task
from loquent.errors import LoquentError
from loquent.tasks.wordle.marks import SOLVED
from loquent.tasks.wordle.players import Player
from loquent.tasks.wordle.rules import Situation, Uniform

MOST = 200_000  # situations


class Perfect(Player):
    """Guesses the word of the list with the highest mean return.

    Every fitting word is equally likely to be the secret. The player's value is the optimum over all players
    that guess words of the task's list. A list of a few dozen words takes seconds.

    Raises:
        LoquentError: the search needs more than `MOST` situations; use a smaller list or `wordle/optimal`.
    """

    kind = "wordle/perfect"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self._cache: dict[tuple[bytes, int], tuple[int, int]] = {}

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        fitting = self.lexicon.fits(situation.board)
        if not len(fitting):
            return [(1.0, self.fitting(situation))]
        return [(1.0, Uniform(self.lexicon.words, np.array([self._best(fitting, situation.left)[1]])))]

    def _best(self, fitting: NDArray[np.int64], left: int) -> tuple[int, int]:
        """(cost, word): the smallest total number of wrong guesses, and the number of the word to guess.

        The total is the sum over the fitting words as secrets.
        """
        if len(fitting) <= 2:
            return len(fitting) - 1, int(fitting[0])
        place = fitting.tobytes(), left
        if place not in self._cache:
            if len(self._cache) >= MOST:
                problem = f"{self.name} has searched {MOST:,} situations, the most allowed"
                raise LoquentError(f"{problem}; use fewer words (limit) or wordle/optimal")
            self._cache[place] = self._searched(fitting, left)
        return self._cache[place]

    def _searched(self, fitting: NDArray[np.int64], left: int) -> tuple[int, int]:
        """(cost, word): as `_best`, by a search in the order of a lower bound of the cost.

        The search ends when the bound reaches the best cost.
        """
        n, codes = len(fitting), self.lexicon.codes[:, fitting].astype(np.int64)
        ordered = np.sort(codes, axis=1)
        groups = 1 + (np.diff(ordered, axis=1) != 0).sum(axis=1)
        wrong = n - (codes == SOLVED).any(axis=1)
        if left == 1:
            word = int(wrong.argmin())
            return int(wrong[word]), word
        # each group of k words costs at least k - 1 more; the solved word costs nothing
        least = wrong + n - groups
        best = (n * left + 1, -1)
        for word in np.argsort(least, kind="stable"):
            if least[word] >= best[0]:
                break
            cost = int(wrong[word])
            for code in np.unique(codes[word]):
                if code != SOLVED:
                    cost += self._best(fitting[codes[word] == code], left - 1)[0]
                if cost >= best[0]:
                    break
            best = min(best, (cost, int(word)), key=lambda pair: pair[0])
        return best
