"""What a guess is told: marks under two rules, as one pure function and as a table, and which words still fit a board."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

LENGTH = 5
ABSENT, ANYWHERE, IN_PLACE = "b", "y", "g"
DIGIT = {ABSENT: 0, ANYWHERE: 1, IN_PLACE: 2}
PATTERNS = 3**LENGTH
REMEMBERED = 20_000  # boards whose fitting words are kept

Board = tuple[tuple[str, str], ...]  # (guess, marks), oldest first


@lru_cache(maxsize=1 << 16)
def marks(guess: str, secret: str, rule: str = "ilql") -> str:
    """The five marks of a guess: g in place, y elsewhere, b not there.

    Under "ilql" a letter that stands anywhere in the secret is y, however often it was guessed (arXiv:2206.11871). Under
    "official" each letter of the secret accounts for one mark: places first, then from left to right.
    """
    spare = [there for said, there in zip(guess, secret, strict=True) if said != there] if rule == "official" else list(secret)
    told = []
    for said, there in zip(guess, secret, strict=True):
        told.append(IN_PLACE if said == there else ANYWHERE if said in spare else ABSENT)
        if rule == "official" and told[-1] == ANYWHERE:
            spare.remove(said)
    return "".join(told)


def letters(guess: str, told: str) -> str:
    """The marks written into the guess: a letter in place in upper case, one elsewhere as it is, "-" for an absent one."""
    return "".join({ABSENT: "-", ANYWHERE: said, IN_PLACE: said.upper()}[mark] for said, mark in zip(guess, told, strict=True))


def code(told: str) -> int:
    """The number of a row of marks in 0..242: b, y, g are the digits 0, 1, 2, the first the lowest."""
    return sum(DIGIT[mark] * 3**i for i, mark in enumerate(told))


def table(guesses: Sequence[str], secrets: Sequence[str], rule: str = "ilql") -> NDArray[np.uint8]:
    """u8[guesses, secrets]: the code of the marks of every guess against every secret."""
    said, there = _letters(guesses)[:, None, :], _letters(secrets)[None, :, :]  # [n, 1, 5], [1, m, 5]
    place = said == there  # [n, m, 5]
    codes = np.zeros(place.shape[:2], dtype=np.uint8)
    for i in range(LENGTH):
        same = there == said[:, :, i : i + 1]  # [n, m, 5]: where the secret has the i-th letter of the guess
        if rule == "official":
            spare = (same & ~place).sum(axis=2)
            spare -= sum(((said[:, :, j] == said[:, :, i]) & ~place[:, :, j] for j in range(i)), np.zeros((1, 1), dtype=np.int64))
        else:
            spare = same.sum(axis=2)
        codes += (3**i * np.where(place[:, :, i], 2, spare > 0)).astype(np.uint8)
    return codes


class Lexicon:
    """A word list under a rule: which of its words fit a board, and which of those tells most."""

    def __init__(self, words: tuple[str, ...], rule: str) -> None:
        self.words, self.rule = words, rule
        self.numbers = {word: i for i, word in enumerate(words)}
        self._fits: dict[Board, NDArray[np.int64]] = {}
        self._best: dict[Board, int] = {}

    @cached_property
    def codes(self) -> NDArray[np.uint8]:
        """u8[n, n]: the table of the whole list, made when first asked for."""
        parts = [table(self.words[i : i + 256], self.words, self.rule) for i in range(0, len(self.words), 256)]
        return np.concatenate(parts)

    def fits(self, board: Board) -> NDArray[np.int64]:
        """The numbers of the words that would have been told just these marks, ascending."""
        found = self._fits.get(board)
        if found is None:
            if not board:
                found = np.arange(len(self.words))
            else:
                before, (guess, told) = self.fits(board[:-1]), board[-1]
                number = self.numbers.get(guess)
                row = table([guess], self.words, self.rule)[0] if number is None else self.codes[number]
                found = before[row[before] == code(told)]
            found.setflags(write=False)
            if len(self._fits) >= REMEMBERED:
                self._fits.clear()
            self._fits[board] = found
        return found

    def best(self, board: Board) -> str:
        """The fitting word whose marks tell most about the secret; the first in the list among equals."""
        number = self._best.get(board)
        if number is None:
            fitting = self.fits(board)
            told = information(self.codes[np.ix_(fitting, fitting)])
            number = int(fitting[np.flatnonzero(told >= told.max() - 1e-9)[0]])  # sums in another order differ by less
            if len(self._best) >= REMEMBERED:
                self._best.clear()
            self._best[board] = number
        return self.words[number]


def information(codes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """f64[n]: nats that each guess tells about m equally likely secrets, log m - sum of (k/m) log k over its patterns."""
    n, m = codes.shape
    counts = np.stack([np.bincount(row, minlength=PATTERNS) for row in codes]) if n else np.zeros((0, PATTERNS))
    return np.log(m) - (counts * np.log(np.maximum(counts, 1))).sum(axis=1) / m


@lru_cache(maxsize=8)
def lexicon(words: tuple[str, ...], rule: str) -> Lexicon:
    """The lexicon of a list and a rule, shared by all that ask for it."""
    return Lexicon(words, rule)


def _letters(words: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("".join(words).encode("ascii"), dtype=np.uint8).reshape(len(words), LENGTH)
