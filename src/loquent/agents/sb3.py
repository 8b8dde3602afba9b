"""An agent that chooses among a task's actions by the scores of a network for an observation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import ActionSet, Texts
from loquent.core.agent import Answer, Question
from loquent.core.task import Observation
from loquent.errors import BadSetting

Scores = Callable[[Sequence[Observation]], NDArray[np.float64]]


class Chooser:
    """Chooses the action with the highest score, or draws one from the probabilities.

    Args:
        scores: f64[n, actions] of n observations: log-probabilities, or values; -inf for masked actions.
        greedy: choose the best action; else `scores` are log-probabilities, and the stream of the question
            draws an action.
        explore: the share of questions that are answered at random, each unmasked action equally likely.
        actions: the actions that it has learned to choose among; it accepts no others.
    """

    def __init__(
        self, name: str, scores: Scores, *, greedy: bool, actions: ActionSet, explore: float = 0.0
    ) -> None:
        self.name, self.scores, self.actions = name, scores, actions
        self.greedy, self.explore = greedy, explore

    @property
    def decoding_text(self) -> str:
        """Whether the best action is taken or one is sampled, and the share of exploration."""
        explored = f", epsilon {self.explore:g}" if self.explore else ""
        return ("argmax" if self.greedy else "sampled") + explored

    def answer(self, asked: Sequence[Question]) -> Sequence[Answer]:
        """One answer per question: the text of the chosen action.

        An empty slot of an action set gives an empty answer, which the task judges.

        Raises:
            BadSetting: a question has no actions, or other actions than it has learned.
        """
        if not asked:
            return []
        self._check(asked[0].actions)
        scores = self.scores([question.observation for question in asked])
        return [self._answer(question, row) for question, row in zip(asked, scores, strict=True)]

    def _check(self, actions: ActionSet | None) -> None:
        if actions is None:
            raise BadSetting(
                f"{self.name} chooses among a task's actions, but this task has none; use it with tasks that "
                "have actions"
            )
        if not same(actions, self.actions):
            raise BadSetting(
                f"{self.name} has learned to choose among {name_actions(self.actions)}, not among "
                f"{name_actions(actions)}; use it with the task it was trained on"
            )

    def _answer(self, question: Question, scores: NDArray[np.float64]) -> Answer:
        assert question.actions is not None
        choice = int(scores.argmax())
        if not self.greedy or self.explore:
            roll, uniform = question.key.child("choose").generator().random(2)
            if roll < self.explore:
                possible = np.flatnonzero(scores > -np.inf)
                choice = int(possible[int(uniform * len(possible))])
            elif not self.greedy:
                choice = draw_action(scores, uniform)
        try:
            return Answer(question.actions.text(choice, question.observation.legal))
        except LookupError:
            return Answer("")


def same(left: ActionSet, right: ActionSet) -> bool:
    """Whether two sets hold the same actions in the same order, as far as is known without an episode."""
    if left is right:
        return True
    if isinstance(left, Texts) and isinstance(right, Texts):
        return left.texts == right.texts
    return type(left) is type(right) and len(left) == len(right)


def name_actions(actions: ActionSet) -> str:
    """The number of actions and, where they are known, the first texts, for error messages."""
    named = [actions.text(i) for i in range(min(3, len(actions)))] if isinstance(actions, Texts) else []
    return f"{len(actions):,} actions" + (f" ({', '.join(map(repr, named))}, ...)" if named else "")


def draw_action(log_probability: NDArray[Any], uniform: float) -> int:
    """The action at a uniform number in [0, 1), by the inverse of the cumulated probabilities.

    The last possible action takes the remainder.
    """
    bounds = np.exp(log_probability - log_probability.max()).cumsum()
    possible = np.flatnonzero(np.isfinite(log_probability))
    return int(min(np.searchsorted(bounds, uniform * bounds[-1], side="right"), possible[-1]))
