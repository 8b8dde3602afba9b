"""The marks of a guess under two rules, as a pure function and as a numpy table of patterns."""

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
    """The five marks of a guess: g for a letter in place, y for a letter elsewhere, b for an absent letter.

    The rule "ilql" does not count letters: a letter that occurs anywhere in the secret is y, even if it is
    guessed more often than it occurs (arXiv:2206.11871). Under "official", each letter of the secret gives
    one mark: first letters in place, then from left to right.
    """
    spare = (
        [right for letter, right in zip(guess, secret, strict=True) if letter != right]
        if rule == "official"
        else list(secret)
    )
    pattern = []
    for letter, right in zip(guess, secret, strict=True):
        pattern.append(IN_PLACE if letter == right else ANYWHERE if letter in spare else ABSENT)
        if rule == "official" and pattern[-1] == ANYWHERE:
            spare.remove(letter)
    return "".join(pattern)


def letters(guess: str, pattern: str) -> str:
    """The guess with its marks as letters.

    A letter in place is in upper case, a letter elsewhere in the secret in lower case; "-" is an absent
    letter.
    """
    return "".join(
        {ABSENT: "-", ANYWHERE: letter, IN_PLACE: letter.upper()}[mark]
        for letter, mark in zip(guess, pattern, strict=True)
    )


def pairs(guess: str, pattern: str) -> str:
    """Each letter with its mark, such as "cb rb ag nb eb".

    A tokenizer that splits at spaces keeps five tokens, one for each place.
    """
    return " ".join(letter + mark for letter, mark in zip(guess, pattern, strict=True))


def code(pattern: str) -> int:
    """The number of five marks, in 0..242: b, y, g are the digits 0, 1, 2.

    The first mark is the lowest digit.
    """
    return CODE[pattern]


def table(guesses: Sequence[str], secrets: Sequence[str], rule: str = "ilql") -> NDArray[np.uint8]:
    """u8[guesses, secrets]: the codes of the marks of each guess against each secret."""
    return Patterns(secrets, rule).table(guesses)


class Patterns:
    """The codes of any guess against a fixed list of secrets.

    A code is the sum of five rows, which are computed once per letter and place.
    """

    def __init__(self, secrets: Sequence[str], rule: str) -> None:
        self.secrets, self.rule = _numbers(secrets), rule
        stands = self.secrets[:, :, None] == np.arange(LETTERS)  # [secrets, 5, 26]
        # [26, secrets]: the number of times a letter occurs
        self.number = stands.sum(axis=1, dtype=np.int8).T
        self.cells = [
            (3**i * np.where(stands[:, i].T, 2, self.number > 0)).astype(np.uint8) for i in range(LENGTH)
        ]

    def table(self, guesses: Sequence[str], among: NDArray[np.int64] | None = None) -> NDArray[np.uint8]:
        """u8[guesses, secrets]: the codes against all secrets, or against those with the numbers `among`."""
        guessed = _numbers(guesses)
        codes: NDArray[np.uint8] = self._cells(0, among)[guessed[:, 0]]
        for i in range(1, LENGTH):
            codes += self._cells(i, among)[guessed[:, i]]
        if self.rule == "official":
            doubled = np.flatnonzero((np.diff(np.sort(guessed, axis=1), axis=1) == 0).any(axis=1))
            secrets, number = (
                (self.secrets, self.number) if among is None else (self.secrets[among], self.number[:, among])
            )
            for start in range(0, len(doubled), 64):
                part = doubled[start : start + 64]
                codes[part] = _counted(guessed[part], secrets, number)
        return codes

    def row(self, guess: str) -> NDArray[np.uint8]:
        """u8[secrets]: the codes of one guess."""
        return self.table([guess])[0]

    def _cells(self, i: int, among: NDArray[np.int64] | None) -> NDArray[np.uint8]:
        return self.cells[i] if among is None else self.cells[i][:, among]


def _counted(
    guessed: NDArray[np.intp], secrets: NDArray[np.intp], number: NDArray[np.int8]
) -> NDArray[np.uint8]:
    """The codes under "official" of guesses that repeat a letter.

    The secret's letters that are not in place are assigned to the guess's letters from left to right.
    """
    # [guesses, secrets] each
    place = [(guessed[:, i, None] == secrets[:, i]).astype(np.int8) for i in range(LENGTH)]
    codes = np.zeros(place[0].shape, dtype=np.uint8)
    for i in range(LENGTH):
        spare = number[guessed[:, i]]
        # one letter less for each letter in place, and for each earlier letter that is not
        for j in range(LENGTH):
            same = np.flatnonzero(guessed[:, i] == guessed[:, j])
            spare[same] -= 1 if j < i else place[j][same]
        codes += (3**i * np.where(place[i], 2, spare > 0)).astype(np.uint8)
    return codes


def _numbers(words: Sequence[str]) -> NDArray[np.intp]:
    """[words, 5]: the letters of the words as numbers; a is 0."""
    flat = np.frombuffer("".join(words).encode("ascii"), dtype=np.uint8).reshape(len(words), LENGTH)
    return flat.astype(np.intp) - ord("a")
