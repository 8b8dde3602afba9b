"""The players of Wordle, with the rules of the paper's code (arXiv:2206.11871)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from loquent.core.settings import check_ranges, setting
from loquent.core.task import Task
from loquent.core.values import Record
from loquent.tasks.wordle.players import Player
from loquent.tasks.wordle.rules import Situation, Uniform

_WORDS = """
opera tears soare roate raise arose earls laser reals aloes reais slate sauce slice shale saute share sooty
shine suite crane adieu audio stare roast ratio arise tales
"""
CURATED = tuple(_WORDS.split())


@dataclass(frozen=True, kw_only=True)
class StartOptions:
    """The options of wordle/start_word."""

    words: tuple[str, ...] = setting(CURATED, "good first words")


class StartWord(Player):
    """Guesses a random good first word that fits all marks; any fitting word where none of them fits."""

    Options, kind = StartOptions, "wordle/start_word"

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        numbers = [self.lexicon.numbers[word] for word in self.options.words if word in self.lexicon.numbers]
        fitting = np.intersect1d(numbers, self.lexicon.fits(situation.board)).astype(np.int64)
        return [(1.0, Uniform(self.lexicon.words, fitting) if len(fitting) else self.fitting(situation))]


@dataclass(frozen=True, kw_only=True)
class OptimalOptions:
    """The options of wordle/optimal."""

    start: str | Record = setting(
        "", "the player of the first guess, as a name or {kind: NAME, OPTION: VALUE}; empty: the same rule"
    )


class Optimal(Player):
    """Guesses the fitting word with the most informative marks; words that tie are equally likely."""

    Options, kind = OptimalOptions, "wordle/optimal"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.start = self.player(self.options.start, "start") if self.options.start else None

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        if not situation.guesses and self.start is not None:
            return self.start.parts(situation)
        best = self.lexicon.best(situation.board)
        return [(1.0, Uniform(self.lexicon.words, best) if len(best) else self.fitting(situation))]


@dataclass(frozen=True, kw_only=True)
class RepeatOptions:
    """The options of wordle/repeat."""

    start: str | Record = setting("", "the player of the first guess; empty: any word of the list")
    first: int = setting(0, "repeat only this number of first guesses; 0: all", low=0)

    def __post_init__(self) -> None:
        check_ranges(self)


class Repeat(Player):
    """Repeats a random earlier guess; it can solve only with its first guess."""

    Options, kind = RepeatOptions, "wordle/repeat"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.start = self.player(self.options.start, "start") if self.options.start else None

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        if situation.guesses:
            return [(1.0, Uniform(situation.guesses[: self.options.first or None]))]
        return self.start.parts(situation) if self.start is not None else [(1.0, Uniform(self.lexicon.words))]

    @property
    def memoryless(self) -> bool:
        return False


@dataclass(frozen=True, kw_only=True)
class RandomMixtureOptions:
    """The options of wordle/random_mixture."""

    prob_smart: float = setting(0.5, "the probability of a word that fits all marks", low=0.0, high=1.0)
    words: str = setting(
        "",
        "its word list: a file with one word per line, or 'builtin'; empty: the task's list",
        file=True,
    )

    def __post_init__(self) -> None:
        check_ranges(self)


class RandomMixture(Player):
    """Guesses a word that fits all marks with probability `prob_smart`, else any word of the list."""

    Options, kind = RandomMixtureOptions, "wordle/random_mixture"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.words = self.word_list(self.options.words)

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        smart = self.options.prob_smart
        fitting = [(smart, self.fitting(situation, self.words))] if smart > 0 else []
        return [*fitting, (1 - smart, Uniform(self.words.words))] if smart < 1 else fitting

    @property
    def memoryless(self) -> bool:
        return self.words is self.lexicon


@dataclass(frozen=True, kw_only=True)
class WrongOptions:
    """The options of wordle/wrong."""

    words: str = setting(
        "",
        "its word list: a file with one word per line, or 'builtin'; empty: the task's list",
        file=True,
    )


class Wrong(Player):
    """Guesses a word that contradicts the marks; any word where no word does."""

    Options, kind = WrongOptions, "wordle/wrong"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.words = self.word_list(self.options.words)
        self._numbers = np.array([self.lexicon.numbers.get(word, -1) for word in self.words.words])

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        wrong = np.flatnonzero(~np.isin(self._numbers, self.lexicon.fits(situation.board)))
        return [(1.0, Uniform(self.words.words, wrong if len(wrong) else None))]


@dataclass(frozen=True, kw_only=True)
class MixtureOptions:
    """The options of wordle/mixture."""

    prob_first: float = setting(0.5, "the probability that the first player answers", low=0.0, high=1.0)
    first: str | Record = setting(
        "wordle/optimal", "the first player, as a name or {kind: NAME, OPTION: VALUE}"
    )
    second: str | Record = setting("wordle/random", "the second player")

    def __post_init__(self) -> None:
        check_ranges(self)


class Mixture(Player):
    """In each turn, the first of two players answers with probability `prob_first`, else the second."""

    Options, kind = MixtureOptions, "wordle/mixture"

    def __init__(self, task: Task, options: Any = None, name: str = "") -> None:
        super().__init__(task, options, name)
        self.first, self.second = (
            self.player(self.options.first, "first"),
            self.player(self.options.second, "second"),
        )

    def draw(self, situation: Situation, rng: np.random.Generator) -> str:
        return (self.first if rng.random() < self.options.prob_first else self.second).draw(situation, rng)

    def parts(self, situation: Situation) -> list[tuple[float, Uniform]]:
        weighted = ((self.options.prob_first, self.first), (1 - self.options.prob_first, self.second))
        return [
            (weight * inside, words)
            for weight, player in weighted
            if weight
            for inside, words in player.parts(situation)
        ]

    @property
    def memoryless(self) -> bool:
        return self.first.memoryless and self.second.memoryless


def consistent(task: Task) -> Player:
    """Guesses a random word that fits all marks so far."""
    return RandomMixture(task, RandomMixtureOptions(prob_smart=1.0), "wordle/consistent")


def random(task: Task) -> Player:
    """Guesses a random word of the list."""
    return RandomMixture(task, RandomMixtureOptions(prob_smart=0.0), "wordle/random")


def half(task: Task) -> Player:
    """Guesses a random fitting word with probability 1/2, else any word of the list."""
    return RandomMixture(task, RandomMixtureOptions(prob_smart=0.5), "wordle/half")
