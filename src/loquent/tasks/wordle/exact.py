"""The exact value of a player of Wordle, by enumeration of all episodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loquent.core.task import Invalid
from loquent.errors import LoquentError
from loquent.tasks.wordle.marks import SOLVED, WRITTEN
from loquent.tasks.wordle.rules import Rule, Situation
from loquent.tasks.wordle.task import GUESSES

MOST = 100_000  # situations
NO_MARKS = -1  # in place of a code, for an invalid guess
SMALL = 64  # at most this number of fitting words: many guesses then partition them in the same way


@dataclass(frozen=True)
class Value:
    """The results of a player when each word of the list is equally likely to be the secret.

    `solved` holds the probabilities of solving at guess 1 to 6.
    """

    solved: tuple[float, ...]

    @property
    def wins(self) -> float:
        """The success rate."""
        return float(sum(self.solved))

    @property
    def mean(self) -> float:
        """The mean return: -(k - 1) when solved at guess k, -6 when not solved."""
        return float(sum(-k * p for k, p in enumerate(self.solved)) - GUESSES * (1 - self.wins))

    @property
    def deviation(self) -> float:
        """The standard deviation of the return of an episode."""
        square = sum(k * k * p for k, p in enumerate(self.solved)) + GUESSES**2 * (1 - self.wins)
        return float(max(square - self.mean**2, 0.0) ** 0.5)


def value(player: Rule, most: int = MOST) -> Value:
    """The exact distribution of a player's returns.

    Each word of its task's list is equally likely to be the secret.

    Args:
        most: the largest number of situations (fitting words and remaining turns).

    Raises:
        LoquentError: there are more situations, or the player has no rule in closed form;
            play many episodes instead.
    """
    everything = _Enumeration(player, most).solve(Situation(), np.arange(len(player.lexicon.words)))
    return Value(tuple(everything.tolist()))


class _Enumeration:
    """A recursion over situations. For a memoryless player, each situation is solved once."""

    def __init__(self, player: Rule, most: int) -> None:
        self.player, self.most, self.situations = player, most, 0
        self.cache: dict[tuple[bytes, int], NDArray[np.float64]] = {}

    def solve(self, situation: Situation, fitting: NDArray[np.int64]) -> NDArray[np.float64]:
        """f64[6]: the probability of solving at each guess."""
        self.situations += 1
        if self.situations > self.most:
            problem = f"{self.player.name} reaches more than {self.most:,} situations"
            raise LoquentError(f"{problem}; play episodes to estimate its value")
        solved = self._next(situation, fitting)
        if self.player.memoryless:
            self.cache[fitting.tobytes(), situation.left] = solved
        return solved

    def _next(self, situation: Situation, fitting: NDArray[np.int64]) -> NDArray[np.float64]:
        solved = np.zeros(GUESSES)
        for weight, words in self.player.parts(situation):
            guesses = words.all()
            pair_weight = weight / len(guesses) / len(fitting)
            codes = self.player.lexicon.patterns.table(guesses, fitting)
            for times, i in self._partings(codes):
                guessed = (*situation.guesses, guesses[i])
                for code, group in self._groups(guesses[i], codes[i]).items():
                    share = times * pair_weight * len(group)
                    if code == SOLVED:
                        solved[GUESSES - situation.left] += share
                    elif situation.left > 1:
                        words_left = fitting[group]
                        later = self.cache.get((words_left.tobytes(), situation.left - 1))
                        if later is None:
                            board = (
                                situation.board
                                if code == NO_MARKS
                                else (*situation.board, (guesses[i], WRITTEN[code]))
                            )
                            later = self.solve(Situation(board, guessed, situation.left - 1), words_left)
                        solved += share * later
        return solved

    def _groups(self, guess: str, codes: NDArray[np.uint8]) -> dict[int, list[int]]:
        """The places of the words with the same code.

        An invalid guess has all places under NO_MARKS.
        """
        # memoryless players guess only words of the task
        if not self.player.memoryless and isinstance(self.player.task.read(None, guess), Invalid):
            return {NO_MARKS: list(range(len(codes)))}
        groups: dict[int, list[int]] = {}
        for place, code in enumerate(codes.tolist()):
            groups.setdefault(code, []).append(place)
        return groups

    def _partings(self, codes: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
        """(count, guess): the number of guesses with the same partition of the words, and one such guess.

        For a player with memory, each guess is its own item.
        """
        n, m = codes.shape
        if not self.player.memoryless or m > SMALL:
            yield from ((1, i) for i in range(n))
            return
        # for each word, the first word with the same code
        parting = (codes[:, :, None] == codes[:, None, :]).argmax(axis=2).astype(np.uint8)
        parting[codes == SOLVED] = m
        alike: dict[bytes, list[int]] = {}
        for i, row in enumerate(parting):
            alike.setdefault(row.tobytes(), []).append(i)
        yield from ((len(guesses), guesses[0]) for guesses in alike.values())
