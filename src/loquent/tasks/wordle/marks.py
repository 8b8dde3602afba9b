"""What a guess is told: marks under two rules, as one pure function and as a table of patterns in numpy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

LENGTH = 5
LETTERS = 26
ABSENT, ANYWHERE, IN_PLACE = "b", "y", "g"
DIGIT = {ABSENT: 0, ANYWHERE: 1, IN_PLACE: 2}
PATTERNS = 3**LENGTH
WRITTEN = tuple("".join(reversed(marks)) for marks in product(DIGIT, repeat=LENGTH))  # the marks of each code
CODE = {marks: code for code, marks in enumerate(WRITTEN)}
SOLVED = CODE[IN_PLACE * LENGTH]

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
    return CODE[told]


def table(guesses: Sequence[str], secrets: Sequence[str], rule: str = "ilql") -> NDArray[np.uint8]:
    """u8[guesses, secrets]: the code of the marks of every guess against every secret."""
    return Patterns(secrets, rule).table(guesses)


class Patterns:
    """The codes of any guess against a fixed list of secrets: one sum of five rows, which are made once for each letter and place."""

    def __init__(self, secrets: Sequence[str], rule: str) -> None:
        self.there, self.rule = _numbers(secrets), rule
        stands = self.there[:, :, None] == np.arange(LETTERS)  # [secrets, 5, 26]
        self.number = stands.sum(axis=1, dtype=np.int8).T  # [26, secrets]: how often a letter is there
        self.cells = [(3**i * np.where(stands[:, i].T, 2, self.number > 0)).astype(np.uint8) for i in range(LENGTH)]

    def table(self, guesses: Sequence[str], among: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """u8[guesses, secrets]: the codes against all secrets, or against the numbered ones."""
        said = _numbers(guesses)
        codes: NDArray[np.uint8] = self._cells(0, among)[said[:, 0]]
        for i in range(1, LENGTH):
            codes += self._cells(i, among)[said[:, i]]
        if self.rule == "official":
            doubled = np.flatnonzero((np.diff(np.sort(said, axis=1), axis=1) == 0).any(axis=1))
            there, number = (self.there, self.number) if among is None else (self.there[among], self.number[:, among])
            for start in range(0, len(doubled), 64):
                part = doubled[start : start + 64]
                codes[part] = _counted(said[part], there, number)
        return codes

    def row(self, guess: str) -> NDArray[np.uint8]:
        """u8[secrets]: the codes of one guess."""
        return self.table([guess])[0]

    def _cells(self, i: int, among: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        return self.cells[i] if among is None else self.cells[i][:, among]


def _counted(said: NDArray[np.intp], there: NDArray[np.intp], number: NDArray[np.int8]) -> NDArray[np.uint8]:
    """The codes under "official" of guesses that repeat a letter: the secret's letters that are not in place go to the guess's from left to right."""
    place = [(said[:, i, None] == there[:, i]).astype(np.int8) for i in range(LENGTH)]  # [guesses, secrets] each
    codes = np.zeros(place[0].shape, dtype=np.uint8)
    for i in range(LENGTH):
        spare = number[said[:, i]]
        for j in range(LENGTH):  # one letter less for each place that is right, and for each earlier one that is not
            same = np.flatnonzero(said[:, i] == said[:, j])
            spare[same] -= 1 if j < i else place[j][same]
        codes += (3**i * np.where(place[i], 2, spare > 0)).astype(np.uint8)
    return codes


def _numbers(words: Sequence[str]) -> NDArray[np.intp]:
    """The letters of the words as numbers from 0 on: [words, 5]."""
    flat = np.frombuffer("".join(words).encode("ascii"), dtype=np.uint8).reshape(len(words), LENGTH)
    return flat.astype(np.intp) - ord("a")
