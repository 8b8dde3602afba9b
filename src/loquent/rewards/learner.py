"""What only a learner's rewards have: normalisation by what was collected, places on tokens, and the discount of its potentials.

An evaluation and an environment count scores as they are (clipped): a mean of 0 over whatever was collected says nothing about a policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.episode import Turn
from loquent.errors import BadSetting
from loquent.rewards.counting import FIXED
from loquent.rewards.terms import Term

ALIKE = 1e-8  # a deviation below this share of the mean is rounding: scores that are all alike tell nothing, and are not blown up


@dataclass
class Normalizer:
    """Mean and deviation of the scores seen so far, merged collection by collection (Chan, Golub, LeVeque 1979)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  # the sum of squared distances from the mean

    def add(self, scores: Sequence[float]) -> None:
        """Take in a collection's scores."""
        if not scores:
            return
        n = len(scores)
        mean = math.fsum(scores) / n
        squares = math.fsum((score - mean) ** 2 for score in scores)
        apart, whole = mean - self.mean, self.count + n
        self.squares += squares + apart * apart * self.count * n / whole
        self.mean += apart * n / whole
        self.count = whole

    def of(self, score: float) -> float:
        """(score - mean) / deviation, the deviation of all seen so far; 0 where those are all alike, of parts of answers too."""
        deviation = math.sqrt(self.squares / self.count) if self.count else 0.0
        return (score - self.mean) / deviation if deviation > ALIKE * abs(self.mean) else 0.0


class Learner:
    """A learner's side of `rewards.apply`; its running statistics are state, which a checkpoint holds.

    Args:
        terms: the terms it will be asked about.
        gamma, discount: what the learner discounts by, and whether per "token" or per "turn": a potential's reward must do the same.
        ends: for an answer with tokens, how many characters of its text are said with each; None: everything stands on the turn.
    """

    def __init__(
        self, terms: Sequence[Any], *, gamma: float = 1.0, discount: str = "turn", ends: Callable[[Turn], Sequence[int]] | None = None
    ) -> None:
        self.gamma, self.discount, self._ends = gamma, discount, ends
        own = [term for term in terms if isinstance(term, Term)]
        self._running = {term.name: Normalizer() for term in own if term.counting.normalization == "running"}

    def fit(self, term: Term, scores: Sequence[float | None]) -> Callable[[float | None], float | None]:
        """What turns a score of this collection, whole or of a part of an answer, into what counts. Running statistics take the scores in.

        Args:
            scores: of the collection's whole answers.
        """
        kind = term.counting.normalization
        if kind == "none":
            return term.counting.clipped
        normalizer = self._running[term.name] if kind == "running" else Normalizer()
        normalizer.add([clipped for score in scores if (clipped := term.counting.clipped(score)) is not None])

        def counted(score: float | None) -> float | None:
            clipped = term.counting.clipped(score)
            return None if clipped is None else normalizer.of(clipped)

        return counted

    def ends(self, turn: Turn) -> Sequence[int]:
        """How many characters of an answer are said with each of its tokens; () where it has none, or nobody can tell."""
        return () if turn.tokens is None or self._ends is None else self._ends(turn)

    def state_dict(self) -> dict[str, Any]:
        """The running statistics, by term."""
        return {name: {"count": one.count, "mean": one.mean, "squares": one.squares} for name, one in self._running.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take back what `state_dict` gave; KeyError where a term's statistics are missing."""
        for name, one in self._running.items():
            one.count, one.mean, one.squares = state[name]["count"], state[name]["mean"], state[name]["squares"]


def of_run(terms: Sequence[Any], config: Any, *, name: str, playing: bool, recorded: bool, ends: Callable[[Turn], Sequence[int]] | None) -> Learner:
    """The learner's side of a run's terms, which discounts as the algorithm does.

    Args:
        config: the algorithm's settings; gamma is 1 where it has none, and stands at the end of an answer where it does not say.
        playing: whether it steps its games itself and has what terms give as each ends. recorded: whether it learns from recorded episodes.

    Raises:
        BadSetting: a term is normalised, a potential, or of statistics of all episodes together, where that has no meaning.
    """
    single = f"{name} has what terms give as each game ends"
    for term in terms:
        counts = term.counting if isinstance(term, Term) else None
        if counts is None:
            continue
        if (playing or recorded) and term.together:
            why = single if playing else "recorded episodes are scored part by part"
            raise BadSetting(f"rewards.{term.name}: its score of an episode depends on those scored with it, and {why}; {FIXED}")
        if playing and counts.normalization == "batch":
            raise BadSetting(
                f"rewards.{term.name}.normalization = 'batch': {single}, so there is no collection to normalise over; 'running' is right"
            )
        if playing and counts.potential:
            raise BadSetting(f"rewards.{term.name}.potential: {single}, and a potential's rewards stand on every step; leave it out")
        if recorded and counts.normalization != "none":
            why = "recorded episodes are scored once, part by part, so there is no collection to normalise over"
            raise BadSetting(f"rewards.{term.name}.normalization = {counts.normalization!r}: {why}; 'none' is right")
    return Learner(terms, gamma=getattr(config, "gamma", 1.0), discount=getattr(config, "discount", "turn"), ends=ends)
