"""What players of Wordle have in common: what they know, and a rule that is a mixture of uniform choices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from loquent.agent import Answer, Asked, make
from loquent.errors import BadSetting, LoquentError
from loquent.task import NoOptions, Task
from loquent.tasks.wordle import rows
from loquent.tasks.wordle.lexicon import Lexicon, lexicon
from loquent.tasks.wordle.marks import Board
from loquent.tasks.wordle.task import GUESSES, Wordle
from loquent.values import Record


@dataclass(frozen=True)
class Seen:
    """What a player knows: its guesses with their marks, all that it has said (words without marks included), and the guesses left."""

    board: Board = ()
    said: tuple[str, ...] = ()
    left: int = GUESSES


@dataclass(frozen=True, eq=False)
class Uniform:
    """One of these words, each equally likely: all of `words`, or those with these numbers."""

    words: Sequence[str]
    numbers: Any = None  # i64[n]

    def __len__(self) -> int:
        return len(self.words) if self.numbers is None else len(self.numbers)

    def draw(self, rng: np.random.Generator) -> str:
        """One of them."""
        i = int(rng.integers(len(self)))
        return self.words[i if self.numbers is None else self.numbers[i]]

    def all(self) -> list[str]:
        """The words, in order."""
        return list(self.words) if self.numbers is None else [self.words[i] for i in self.numbers]


class Player(ABC):
    """An agent that plays Wordle by a rule. A subclass says of which `parts` its choice is mixed."""

    Options: ClassVar[type] = NoOptions
    kind: ClassVar[str]

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        self.name = name or self.kind
        if not isinstance(task, Wordle):
            raise LoquentError(f"{self.name} plays wordle, not {task.identity}")
        self.options = self.Options() if options is None else options
        self.task, self.lexicon = task, task.lexicon

    def answer(self, asked: Sequence[Asked]) -> list[Answer]:
        """One guess per game."""
        return [Answer(self.draw(seen(one), one.key.generator())) for one in asked]

    def draw(self, seen: Seen, rng: np.random.Generator) -> str:
        """One guess."""
        chosen, parts = rng.random(), self.parts(seen)
        for weight, words in parts[:-1]:
            if chosen < weight:
                return words.draw(rng)
            chosen -= weight
        return parts[-1][1].draw(rng)

    @abstractmethod
    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        """The rule: words and the probability that one of them is said; the probabilities add up to 1, and no part is empty."""

    @property
    def forgets(self) -> bool:
        """Whether the words of the task that fit and the number of guesses left decide what it does from here on."""
        return True

    def exact_return(self, most: int) -> float:
        """The exact mean return, the secret being any word of the task's list; LoquentError where there are more than `most` situations."""
        from loquent.tasks.wordle.exact import value

        return value(self, most).mean

    def fitting(self, seen: Seen, among: Lexicon | None = None) -> Uniform:
        """The words of a list (the task's) that fit the board; all of them where none does."""
        lexicon = among or self.lexicon
        numbers = lexicon.fits(seen.board)
        return Uniform(lexicon.words, numbers if len(numbers) else None)

    def player(self, chosen: str | Record, option: str) -> Player:
        """The player of Wordle that an option names."""
        made = make(chosen, self.task, place=f"{self.kind}.{option}")
        if not isinstance(made, Player):
            raise BadSetting(f"{self.kind}.{option}: {made.name} is no player of known rules; one of the wordle/ agents is right")
        return made

    def own(self, words: str) -> Lexicon:
        """A list of the player's own, or the task's."""
        return lexicon(rows.read(words), self.lexicon.rule) if words else self.lexicon


def seen(asked: Asked) -> Seen:
    """What a question tells a player."""
    seat, fields = asked.observation.seat, asked.observation.fields
    return Seen(fields["board"], tuple(turn.text for turn in asked.turns if turn.seat == seat), fields["left"])
