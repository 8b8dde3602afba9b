"""The parts of rewards for training alone: normalisation, placement on tokens, discounted potentials.

An evaluation and an environment use the clipped score. Normalised rewards have mean 0 under any policy, so
they cannot compare policies.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from loquent.core.episode import Turn
from loquent.errors import BadSetting
from loquent.files import saved_state
from loquent.rewards.counting import FIXED
from loquent.rewards.terms import Term

SPENT = "/spent"  # the part of the state of the budgets; no term has this name
ALIKE = 1e-8  # a deviation below this share of the mean is rounding error, and is treated as 0


@runtime_checkable
class Metered(Protocol):
    """A metric with a budget: `spent` counts by unit, and a resumed run goes on with it."""

    spent: dict[str, int]


@dataclass
class Normalizer:
    """Mean and deviation of all scores so far, merged by collection (Chan, Golub, LeVeque 1979)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0  # the sum of squared distances from the mean

    def add(self, scores: Sequence[float]) -> None:
        """Add the scores of one collection."""
        if not scores:
            return
        n = len(scores)
        mean = math.fsum(scores) / n
        squares = math.fsum((score - mean) ** 2 for score in scores)
        difference, total = mean - self.mean, self.count + n
        self.squares += squares + difference * difference * self.count * n / total
        self.mean += difference * n / total
        self.count = total

    def of(self, score: float) -> float:
        """(score - mean) / deviation, over all scores so far; 0 where these are all equal."""
        deviation = math.sqrt(self.squares / self.count) if self.count else 0.0
        return (score - self.mean) / deviation if deviation > ALIKE * abs(self.mean) else 0.0


class Learner:
    """The training part of `rewards.apply`. Its running statistics are state; checkpoints store them.

    Args:
        terms: the reward terms of the run.
        gamma, discount: the learner's discount factor, and whether it applies per "token" or per "turn".
            Potentials use both.
        ends: for an answer with tokens, the number of characters of its text up to and including each token.
            None: rewards are on turns, not on tokens.
    """

    def __init__(
        self,
        terms: Sequence[Any],
        *,
        gamma: float = 1.0,
        discount: str = "turn",
        ends: Callable[[Turn], Sequence[int]] | None = None,
    ) -> None:
        self.gamma, self.discount, self._ends = gamma, discount, ends
        own = [term for term in terms if isinstance(term, Term)]
        self._metered = {term.name: term.metric for term in own if isinstance(term.metric, Metered)}
        self._running = {term.name: Normalizer() for term in own if term.counting.normalization == "running"}

    def fit(self, term: Term, scores: Sequence[float | None]) -> Callable[[float | None], float | None]:
        """The function from a score, of a whole answer or of a part, to its reward in this collection.

        It adds the scores to the running statistics.

        Args:
            scores: the scores of the collection's whole answers.
        """
        kind = term.counting.normalization
        if kind == "none":
            return term.counting.clip_score
        normalizer = self._running[term.name] if kind == "running" else Normalizer()
        normalizer.add(
            [clipped for score in scores if (clipped := term.counting.clip_score(score)) is not None]
        )

        def count(score: float | None) -> float | None:
            clipped = term.counting.clip_score(score)
            return None if clipped is None else normalizer.of(clipped)

        return count

    def ends(self, turn: Turn) -> Sequence[int]:
        """The number of characters up to and including each token of an answer; () where this is unknown."""
        return () if turn.tokens is None or self._ends is None else self._ends(turn)

    def state_dict(self) -> dict[str, Any]:
        """The running statistics by term, and what judges have spent."""
        spent = {name: dict(metric.spent) for name, metric in self._metered.items()}
        return {
            **{
                name: {"count": term.count, "mean": term.mean, "squares": term.squares}
                for name, term in self._running.items()
            },
            **({SPENT: spent} if spent else {}),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state; BadCheckpoint where a term's statistics are missing or out of range."""
        for name, term in self._running.items():
            saved = saved_state.part(state, name)
            term.count, term.mean = saved_state.count(saved, "count"), saved_state.number(saved, "mean")
            term.squares = saved_state.number(saved, "squares", 0)
        for name, metric in self._metered.items():
            saved = saved_state.part(saved_state.part(state, SPENT), name)
            metric.spent.update({unit: saved_state.count(saved, unit) for unit in metric.spent})


def of_run(
    terms: Sequence[Any],
    config: Any,
    *,
    name: str,
    playing: bool,
    recorded: bool,
    ends: Callable[[Turn], Sequence[int]] | None,
    processes: int = 1,
) -> Learner:
    """The `Learner` of a run, with the discount of its algorithm.

    Args:
        config: the algorithm's settings, which hold `gamma` and `discount`.
        playing: whether the algorithm steps its episodes itself, and gets the rewards of terms as each
            episode ends.
        recorded: whether the algorithm learns from recorded episodes.
        processes: the processes that learn together; each scores all episodes.

    Raises:
        BadSetting: a term uses normalisation, a potential or statistics of a batch where the algorithm cannot
            support it, or a term may fail to judge an episode that cannot be left out.
    """
    single = f"{name} scores each episode alone, as it ends"
    for term in terms:
        counts = term.counting if isinstance(term, Term) else None
        if counts is None:
            continue
        if term.fallible and (playing or processes > 1):
            why = f"{processes} processes would get different scores"
            if playing:
                why = f"{name} learns from an episode before it is scored, so it could not be left out"
            raise BadSetting(
                f"rewards.{term.name}: its judge may fail, and {why}; choose a learner of whole episodes in "
                "one process, such as ppo or grpo"
            )
        if (playing or recorded) and term.together:
            why = single if playing else "recorded episodes are scored in parts"
            problem = f"rewards.{term.name}: its score of an episode depends on the episodes scored with it"
            raise BadSetting(f"{problem}, and {why}; {FIXED}")
        if playing and counts.normalization == "batch":
            problem = f"rewards.{term.name}.normalization = 'batch': {single}"
            raise BadSetting(f"{problem}, so there is no collection to normalise over; use 'running'")
        if playing and counts.potential:
            problem = f"rewards.{term.name}.potential: {single}"
            raise BadSetting(f"{problem}, and a potential gives a reward at every step; leave it out")
        if recorded and counts.normalization != "none":
            problem = (
                f"rewards.{term.name}.normalization = {counts.normalization!r}: recorded episodes are "
                "scored once, in parts"
            )
            raise BadSetting(f"{problem}, so there is no collection to normalise over; use 'none'")
    return Learner(terms, gamma=config.gamma, discount=config.discount, ends=ends)
