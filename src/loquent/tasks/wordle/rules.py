"""Rules of players of Wordle: what a player knows, and the probabilities of its guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from loquent.tasks.wordle.lexicon import Lexicon
from loquent.tasks.wordle.marks import Board
from loquent.tasks.wordle.task import GUESSES, Wordle


@dataclass(frozen=True)
class Situation:
    """What a player knows: the guesses with their marks, all guesses, and the remaining turns.

    All guesses include the invalid ones.
    """

    board: Board = ()
    guesses: tuple[str, ...] = ()
    left: int = GUESSES


@dataclass(frozen=True, eq=False)
class Uniform:
    """The uniform distribution over `words`, or over the words with these numbers."""

    words: Sequence[str]
    numbers: Any = None  # i64[n]

    def __len__(self) -> int:
        return len(self.words) if self.numbers is None else len(self.numbers)

    def draw(self, rng: np.random.Generator) -> str:
        """A random word."""
        i = int(rng.integers(len(self)))
        return self.words[i if self.numbers is None else self.numbers[i]]

    def all(self) -> list[str]:
        """The words, in order."""
        return list(self.words) if self.numbers is None else [self.words[i] for i in self.numbers]


class Rule(Protocol):
    """A player whose choices are mixtures of uniform distributions.

    Its value can therefore be computed exactly.
    """

    name: str
    task: Wordle
    lexicon: Lexicon

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        """The mixture: probabilities with sum 1, each with a uniform distribution that is not empty."""
        ...

    @property
    def memoryless(self) -> bool:
        """Whether the fitting words and the number of remaining turns decide all later choices."""
        ...
