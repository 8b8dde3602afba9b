"""Live episodes for a learner that steps them itself, such as one of another library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loquent.adapters.table import Table
from loquent.core.algorithm import Algorithm
from loquent.errors import BadSetting
from loquent.training.estimates import turns
from loquent.training.estimates.estimate import Estimate
from loquent.training.experience import summary
from loquent.training.experience.source import Experience, Parts, player_of
from loquent.training.recipes import Recipe


class LiveEpisodes(Experience):
    """A table of live episodes. The learner has its own loop, optimizer and buffer (`algorithm.Playing`)."""

    alone = True

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        table = Table(
            parts.task,
            self.sampler,
            places=parts.recipe.config.games,
            seed=self.settings.seed,
            split=self.settings.split,
            terms=parts.terms,
            weights=parts.weights,
            learner=self.learner,
            teacher=player_of(parts) if parts.source == "expert" else None,
        )
        parts.algorithm.sit(table, self.settings.updates)

    @classmethod
    def check(cls, recipe: Recipe, algorithm: type[Algorithm]) -> None:
        """Raise BadSetting if the recipe asks for several answers to a row."""
        super().check(recipe, algorithm)
        if (answers := recipe.training.answers) > 1:
            raise BadSetting(
                f"training.answers = {answers}: {recipe.algorithm} steps its episodes itself, one on each "
                "drawn row; set training.answers to 1"
            )

    @classmethod
    def estimate(cls, recipe: Recipe, build: Callable[[Recipe], Any]) -> Estimate:
        """The estimate from the learner's arrays and two short updates."""
        return turns.of_live(recipe, build)

    def update(self) -> dict[str, float]:
        """Let the learner act and learn; returns the values of the episodes that ended, and its own."""
        with self.phase("play"):
            episodes, logs = self.algorithm.play()
        self.games += len(episodes)
        return {**summary.turns(episodes, self.parts.weights, self.task.spec), **logs}
