"""The players of Wordle, each by the rule of the paper's code (arXiv:2206.11871)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loquent.settings import check_ranges, setting
from loquent.task import Task
from loquent.tasks.wordle.players import Player, Seen, Uniform
from loquent.values import Record

_WORDS = """
opera tears soare roate raise arose earls laser reals aloes reais slate sauce slice shale saute share sooty shine suite crane adieu audio stare
roast ratio arise tales
"""
CURATED = tuple(_WORDS.split())


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """What wordle/start_word may be told."""

    words: tuple[str, ...] = setting(CURATED, "good first words")


class StartWord(Player):
    """Says a good first word that fits all marks; any fitting word where no good one is in the list."""

    Options, kind = StartOptions, "wordle/start_word"

    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        numbers = [self.lexicon.numbers[word] for word in self.options.words if word in self.lexicon.numbers]
        fitting = np.intersect1d(numbers, self.lexicon.fits(seen.board)).astype(np.int64)
        return [(1.0, Uniform(self.lexicon.words, fitting) if len(fitting) else self.fitting(seen))]


@dataclass(frozen=True, kw_only=True)
class OptimalOptions:
    """What wordle/optimal may be told."""

    start: str | Record = setting("", "the player of the first guess, as a name or {kind: NAME, OPTION: VALUE}; empty: its own rule")


class Optimal(Player):
    """Says the fitting word whose marks tell most about the secret, each that tells most equally likely."""

    Options, kind = OptimalOptions, "wordle/optimal"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.start = self.player(self.options.start, "start") if self.options.start else None

    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        if not seen.said and self.start is not None:
            return self.start.parts(seen)
        best = self.lexicon.best(seen.board)
        return [(1.0, Uniform(self.lexicon.words, best) if len(best) else self.fitting(seen))]


@dataclass(frozen=True, kw_only=True)
class RepeatOptions:
    """What wordle/repeat may be told."""

    start: str | Record = setting("", "the player of the first guess; empty: any word of the list")
    first: int = setting(0, "repeat only so many of the first guesses; 0: all", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)


class Repeat(Player):
    """Says again what it has said, each of its guesses equally likely: it can never win but at once."""

    Options, kind = RepeatOptions, "wordle/repeat"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.start = self.player(self.options.start, "start") if self.options.start else None

    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        if seen.said:
            return [(1.0, Uniform(seen.said[: self.options.first or None]))]
        return self.start.parts(seen) if self.start is not None else [(1.0, Uniform(self.lexicon.words))]

    @property
    def forgets(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class RandomMixtureOptions:
    """What wordle/random_mixture may be told."""

    prob_smart: float = setting(0.5, "how often it says a word that fits all marks", low=0.0, high=1.0)
    words: str = setting("", "its word list, a file with one word a line or 'builtin'; empty: the task's")

    def __post_init__(self) -> None:
        check_ranges(self)


class RandomMixture(Player):
    """Says a word that fits all marks with probability `prob_smart`, else any word of the list."""

    Options, kind = RandomMixtureOptions, "wordle/random_mixture"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.words = self.own(self.options.words)

    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        smart = self.options.prob_smart
        fitting = [(smart, self.fitting(seen, self.words))] if smart > 0 else []
        return [*fitting, (1 - smart, Uniform(self.words.words))] if smart < 1 else fitting

    @property
    def forgets(self) -> bool:
        return self.words is self.lexicon


@dataclass(frozen=True, kw_only=True)
class WrongOptions:
    """What wordle/wrong may be told."""

    words: str = setting("", "its word list, a file with one word a line or 'builtin'; empty: the task's")


class Wrong(Player):
    """Says a word that contradicts the marks; any word where none does."""

    Options, kind = WrongOptions, "wordle/wrong"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.words = self.own(self.options.words)
        self._numbers = np.array([self.lexicon.numbers.get(word, -1) for word in self.words.words])

    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        wrong = np.flatnonzero(~np.isin(self._numbers, self.lexicon.fits(seen.board)))
        return [(1.0, Uniform(self.words.words, wrong if len(wrong) else None))]


@dataclass(frozen=True, kw_only=True)
class MixtureOptions:
    """What wordle/mixture may be told."""

    prob_first: float = setting(0.5, "how often the first player answers", low=0.0, high=1.0)
    first: str | Record = setting("wordle/optimal", "the first player, as a name or {kind: NAME, OPTION: VALUE}")
    second: str | Record = setting("wordle/random", "the second player")

    def __post_init__(self) -> None:
        check_ranges(self)


class Mixture(Player):
    """In each turn lets the first of two players answer with probability `prob_first`, else the second."""

    Options, kind = MixtureOptions, "wordle/mixture"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.first, self.second = self.player(self.options.first, "first"), self.player(self.options.second, "second")

    def draw(self, seen: Seen, rng: np.random.Generator) -> str:
        return (self.first if rng.random() < self.options.prob_first else self.second).draw(seen, rng)

    def parts(self, seen: Seen) -> list[tuple[float, Uniform]]:
        weighted = ((self.options.prob_first, self.first), (1 - self.options.prob_first, self.second))
        return [(weight * inside, words) for weight, player in weighted if weight for inside, words in player.parts(seen)]

    @property
    def forgets(self) -> bool:
        return self.first.forgets and self.second.forgets


def consistent(task: Task) -> Player:
    """Says a word that fits all marks so far, each equally likely."""
    return RandomMixture(task, RandomMixtureOptions(prob_smart=1.0), "wordle/consistent")


def random(task: Task) -> Player:
    """Says any word of the list, each equally likely."""
    return RandomMixture(task, RandomMixtureOptions(prob_smart=0.0), "wordle/random")


def half(task: Task) -> Player:
    """Says a word that fits all marks in half of its turns, any word in the others."""
    return RandomMixture(task, RandomMixtureOptions(prob_smart=0.5), "wordle/half")
