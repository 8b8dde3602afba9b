"""The exact value of a player of Wordle, by enumeration of all that can happen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loquent.errors import LoquentError
from loquent.task import Invalid
from loquent.tasks.wordle.marks import SOLVED, WRITTEN
from loquent.tasks.wordle.players import Player, Seen
from loquent.tasks.wordle.task import GUESSES

MOST = 100_000  # situations
UNTOLD = -1  # in place of a code
SMALL = 64  # words that still fit: so few are parted in the same way by many guesses


@dataclass(frozen=True)
class Value:
    """How a player's games end when each word of the list is equally likely to be the secret: the probability to solve it at guess 1 to 6."""

    solved: tuple[float, ...]

    @property
    def wins(self) -> float:
        """The probability to solve it at all."""
        return float(sum(self.solved))

    @property
    def mean(self) -> float:
        """The mean return: -(k - 1) when solved at guess k, -6 when never."""
        return float(sum(-k * p for k, p in enumerate(self.solved)) - GUESSES * (1 - self.wins))

    @property
    def deviation(self) -> float:
        """The standard deviation of the return of one game."""
        square = sum(k * k * p for k, p in enumerate(self.solved)) + GUESSES**2 * (1 - self.wins)
        return float(max(square - self.mean**2, 0.0) ** 0.5)


def value(player: Player, most: int = MOST) -> Value:
    """The exact distribution of returns of a player, the secret being any word of its task's list with equal probability.

    Args:
        most: the number of situations (fitting words and guesses left) after which it gives up.

    Raises:
        LoquentError: there are more situations than that: play many games instead; or the player has no rule in closed form.
    """
    everything = _Enumeration(player, most).solved(Seen(), np.arange(len(player.lexicon.words)))
    return Value(tuple(everything.tolist()))


class _Enumeration:
    """A recursion over situations, each solved once where the player forgets how it came there."""

    def __init__(self, player: Player, most: int) -> None:
        self.player, self.most, self.situations = player, most, 0
        self.known: dict[tuple[bytes, int], NDArray[np.float64]] = {}

    def solved(self, seen: Seen, fitting: NDArray[np.int64]) -> NDArray[np.float64]:
        """f64[6]: the probability to solve the game at each guess."""
        self.situations += 1
        if self.situations > self.most:
            raise LoquentError(f"{self.player.name} comes into more than {self.most:,} situations; play games to estimate its value")
        found = self._next(seen, fitting)
        if self.player.forgets:
            self.known[fitting.tobytes(), seen.left] = found
        return found

    def _next(self, seen: Seen, fitting: NDArray[np.int64]) -> NDArray[np.float64]:
        found = np.zeros(GUESSES)
        for weight, words in self.player.parts(seen):
            guesses = words.all()
            each = weight / len(guesses) / len(fitting)
            codes = self.player.lexicon.patterns.table(guesses, fitting)
            for times, i in self._partings(codes):
                said = (*seen.said, guesses[i])
                for code, group in self._groups(guesses[i], codes[i]).items():
                    share = times * each * len(group)
                    if code == SOLVED:
                        found[GUESSES - seen.left] += share
                    elif seen.left > 1:
                        rest = fitting[group]
                        later = self.known.get((rest.tobytes(), seen.left - 1))
                        if later is None:
                            board = seen.board if code == UNTOLD else (*seen.board, (guesses[i], WRITTEN[code]))
                            later = self.solved(Seen(board, said, seen.left - 1), rest)
                        found += share * later
        return found

    def _groups(self, guess: str, codes: NDArray[np.uint8]) -> dict[int, list[int]]:
        """The places of the words that tell the same, by the code; all of them by UNTOLD where the task takes no such guess."""
        if not self.player.forgets and isinstance(self.player.task.read(None, guess), Invalid):  # others say words of the task alone
            return {UNTOLD: list(range(len(codes)))}
        groups: dict[int, list[int]] = {}
        for place, code in enumerate(codes.tolist()):
            groups.setdefault(code, []).append(place)
        return groups

    def _partings(self, codes: NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
        """How many guesses part the words in one way, and one of them; guesses one by one where the player remembers them."""
        n, m = codes.shape
        if not self.player.forgets or m > SMALL:
            yield from ((1, i) for i in range(n))
            return
        parting = (codes[:, :, None] == codes[:, None, :]).argmax(axis=2).astype(np.uint8)  # of each word the first that is told the same
        parting[codes == SOLVED] = m
        alike: dict[bytes, list[int]] = {}
        for i, row in enumerate(parting):
            alike.setdefault(row.tobytes(), []).append(i)
        yield from ((len(ones), ones[0]) for ones in alike.values())
