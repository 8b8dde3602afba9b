"""The best player of Wordle there is: no guess of the list leads to fewer wrong ones on average."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.errors import LoquentError
from loquent.task import Task
from loquent.tasks.wordle.marks import SOLVED
from loquent.tasks.wordle.players import Player, Seen, Uniform

MOST = 200_000  # situations


class Perfect(Player):
    """Says the word of the list that leads to the highest mean return, the secret being any fitting word; found by enumeration.

    Its value is the optimum over all players that say words of the task's list. Some dozens of words take seconds.

    Raises:
        LoquentError: where more situations than `MOST` have to be looked at; a smaller list, or `wordle/optimal`, is right.
    """

    kind = "wordle/perfect"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self._known: dict[tuple[bytes, int], tuple[int, int]] = {}

    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        fitting = self.lexicon.fits(seen.board)
        if not len(fitting):
            return [(1.0, self.fitting(seen))]
        return [(1.0, Uniform(self.lexicon.words, np.array([self._best(fitting, seen.left)[1]])))]

    def _best(self, fitting: NDArray[np.int64], left: int) -> tuple[int, int]:
        """The fewest wrong guesses, summed over the fitting words as secrets, and the number of the word to say first."""
        if len(fitting) <= 2:
            return len(fitting) - 1, int(fitting[0])
        place = fitting.tobytes(), left
        if place not in self._known:
            if len(self._known) >= MOST:
                raise LoquentError(f"{self.name} has looked at {MOST:,} situations; fewer words (limit) or wordle/optimal are right")
            self._known[place] = self._searched(fitting, left)
        return self._known[place]

    def _searched(self, fitting: NDArray[np.int64], left: int) -> tuple[int, int]:
        """Guesses in the order of what they could cost at least, until the next could not be better."""
        n, codes = len(fitting), self.lexicon.codes[:, fitting].astype(np.int64)
        ordered = np.sort(codes, axis=1)
        groups = 1 + (np.diff(ordered, axis=1) != 0).sum(axis=1)
        wrong = n - (codes == SOLVED).any(axis=1)
        if left == 1:
            word = int(wrong.argmin())
            return int(wrong[word]), word
        least = wrong + n - groups  # each group of k words costs k - 1 more at the least, the solved one nothing
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
            best = min(best, (cost, int(word)), key=lambda one: one[0])
        return best
