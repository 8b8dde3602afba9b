"""Experience that is played for each update, by the learner itself or by a teacher."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from loquent.core.algorithm import Algorithm
from loquent.core.episode import Episode
from loquent.core.rollout.loop import Game
from loquent.data import outcomes
from loquent.errors import BadSetting
from loquent.files.machine import division, parallel
from loquent.training.experience import shared_play
from loquent.training.experience.source import Batches, player_of
from loquent.training.recipes import Recipe


class Played(Batches):
    """Draws rows, plays them, adds the rewards and makes a batch of the episodes."""

    @classmethod
    def check(cls, recipe: Recipe, algorithm: type[Algorithm]) -> None:
        """Raise BadSetting if the algorithm compares the answers to a row, and there are too few."""
        super().check(recipe, algorithm)
        answers, least = recipe.training.answers, 1 if recipe.config.alone else algorithm.least_answers
        if answers < least:
            raise BadSetting(
                f"training.answers = {answers}: {recipe.algorithm} compares the answers to one row and needs "
                f"at least {least}; set training.answers to {least} or more, for example 8"
            )

    def next(self) -> tuple[Any, dict[str, float]]:
        """The prepared batch of episodes that are played now, and its logged values.

        Episodes with a reward that could not be judged are counted and left out. The batch is None if none
        is left.
        """
        with self.phase("collect"):
            episodes = self.collect()
        learned = episodes
        counts: dict[str, float] = {}
        if self.fallible:
            learned = outcomes.learnable(episodes, self.parts.weights, self.algorithm.least_answers)
            counts = {
                f"rollout/{key}": count
                for key, count in outcomes.count_unjudged(episodes, self.fallible).items()
            }
            counts["rollout/left_out"] = float(len(episodes) - len(learned))
        if not learned:
            return None, counts
        with self.phase("score"):
            whole = self.batch(learned)
            batch = self.algorithm.prepare(whole)
        return batch, {**self.summary(learned, whole), **counts}

    def collect(self) -> list[Episode]:
        """Play the episodes of one update and add the rewards of all terms."""
        rows = self.sampler.draw(self.settings.rows)
        each = self.settings.answers
        queue = [Game(row, self.games + i * each + j) for i, row in enumerate(rows) for j in range(each)]
        self.games += len(queue)
        episodes = shared_play.play(
            self.task, queue, self.make_player(), seed=self.settings.seed, split=self.settings.split
        )
        with division.dividing(parallel.size() > 1):
            return self.add_rewards(episodes)

    def make_player(self) -> Any:
        """The agent that plays the episodes of an update."""
        return player_of(self.parts)

    @abstractmethod
    def add_rewards(self, episodes: Sequence[Episode]) -> list[Episode]:
        """The episodes with the rewards of all terms."""

    @abstractmethod
    def batch(self, episodes: Sequence[Episode]) -> Any:
        """The batch for the algorithm, with all scores if it needs them."""

    @abstractmethod
    def summary(self, episodes: Sequence[Episode], batch: Any) -> dict[str, float]:
        """The logged values of the episodes of an update."""
