"""Played episodes as batches of turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loquent.core.episode import Episode
from loquent.models.tokens.turns import turn_batch
from loquent.models.turns.turn_scores import score
from loquent.rewards import compose
from loquent.training.estimates import turns
from loquent.training.estimates.estimate import Estimate
from loquent.training.experience import summary
from loquent.training.experience.rollouts import Played
from loquent.training.experience.source import Parts
from loquent.training.recipes import Recipe


class PlayedTurns(Played):
    """Episodes of a learner that chooses among actions, as a `TurnBatch`."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.actor.check_rewards(parts.weights)

    @classmethod
    def estimate(cls, recipe: Recipe, build: Callable[[Recipe], Any]) -> Estimate:
        """The estimate from two updates of a few episodes."""
        return turns.of_played(recipe, build)

    def add_rewards(self, episodes: Sequence[Episode]) -> list[Episode]:
        """The episodes with the rewards of all terms."""
        return compose.apply(self.parts.terms, episodes, self.rows, self.learner)

    def batch(self, episodes: Sequence[Episode]) -> Any:
        """The turns of the episodes, and if the algorithm needs them, all scores."""
        actor = self.actor
        self.algorithm.read_episodes(episodes, self.rows)
        goal = actor.goals(self.rows)
        turns = turn_batch(episodes, actor.inputs, actor.actions, self.parts.weights, goal=goal)
        return score(actor, turns) if self.algorithm.scored else turns

    def summary(self, episodes: Sequence[Episode], batch: Any) -> dict[str, float]:
        """The values under `rollout/` for answers that are actions."""
        return summary.turns(episodes, self.parts.weights, self.task.spec)
