"""Wordle as ILQL's code plays it: flags of every letter at every place, and a scan of the vocabulary for
every new state.

Follows the ILQL notes §4.2 (state and consistency), §4.3 (colours, all rows rendered from the newest state),
§4.5 (rewards and end), §4.6 (the filtered vocabulary: a cache by state, else a full scan, letter by letter)
and §4.7 (information gain). It leaves out what the notes call waste, the deep copy of all flags for each
letter, and it stops at the first letter that a word fails.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from enum import Enum

LETTERS, LENGTH, TRIES = "abcdefghijklmnopqrstuvwxyz", 5, 6
Flag = Enum("Flag", ["NOT_HERE", "POSSIBLE", "HERE"])
NOT_HERE, POSSIBLE, HERE = Flag
State = tuple[tuple[Flag, ...], ...]  # five flags for each of 26 letters
START: State = ((POSSIBLE,) * LENGTH,) * len(LETTERS)


def updated(state: State, guess: str, word: str) -> State:
    """The state after a guess, place by place."""
    flags = [list(letter) for letter in state]
    for i, letter in enumerate(guess):
        mine = flags[LETTERS.index(letter)]
        if word[i] == letter:
            mine[i] = HERE
        elif letter in word:
            mine[i] = NOT_HERE
        else:
            mine[:] = [NOT_HERE] * LENGTH
    return tuple(tuple(letter) for letter in flags)


def letter_fits(letter: str, flags: tuple[Flag, ...], word: str) -> bool:
    """Whether a word agrees with what is known of one letter."""
    if all(flag is POSSIBLE for flag in flags):
        return True
    if all(flag is NOT_HERE for flag in flags):
        return letter not in word
    for flag, there in zip(flags, word, strict=True):
        if (flag is HERE and there != letter) or (flag is NOT_HERE and there == letter):
            return False
    return letter in word


def fits(state: State, word: str) -> bool:
    """Whether a word agrees with what is known of every letter."""
    return all(letter_fits(letter, flags, word) for letter, flags in zip(LETTERS, state, strict=True))


def colours(state: State, guess: str) -> str:
    """A row rendered from a state: g where the letter is here, b where it is nowhere, y where it is not
    here.
    """
    found = ""
    for i, letter in enumerate(guess):
        flags = state[LETTERS.index(letter)]
        found += "g" if flags[i] is HERE else "b" if all(flag is NOT_HERE for flag in flags) else "y"
    return found


class Vocabulary:
    """A word list with the words that fit a state, remembered by state."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words, self.cache = list(words), dict[State, list[str]]()

    def filtered(self, state: State) -> list[str]:
        """The words that fit."""
        if state not in self.cache:
            self.cache[state] = [word for word in self.words if fits(state, word)]
        return self.cache[state]


class Environment:
    """One game. The hidden word of each step is given, as the code draws it from the words that fit."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary, self.state, self.history = vocabulary, START, list[str]()

    def step(self, action: str, hidden: str) -> tuple[list[str], float, bool]:
        """All rows as they are seen now, the reward, and whether the game is over."""
        self.history.append(action)
        valid = len(action) == LENGTH and all(letter in LETTERS for letter in action)
        if valid:
            self.state = updated(self.state, action, hidden)
        left = self.vocabulary.filtered(self.state)
        solved = len(left) == 1 and left[0] in self.history
        rows = [colours(self.state, said) for said in self.history if len(said) == LENGTH]
        return rows, 0.0 if solved else -1.0, solved or len(self.history) >= TRIES


def information(words: Sequence[str], guess: str) -> float:
    """What a first guess tells: log n - sum of (k/n) log k over the states it leads to."""
    counts = Counter(updated(START, guess, word) for word in words)
    return math.log(len(words)) - sum(k * math.log(k) for k in counts.values()) / len(words)
