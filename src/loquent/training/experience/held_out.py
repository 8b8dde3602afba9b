"""What sources of batches of tokens share, and for learners that imitate, the answers on held-out rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from loquent.agents.baselines import Expert
from loquent.core.rollout.loop import games, play
from loquent.data.pools import evaluation_seed, held_out
from loquent.errors import BrokenAgent
from loquent.models.tokens.batch import TokenBatch, token_batch
from loquent.models.tokens.rewards import ends_by
from loquent.rewards import compose
from loquent.training.estimates import language_models, needs
from loquent.training.estimates.estimate import Estimate
from loquent.training.experience.source import Batches, Parts, player_of
from loquent.training.recipes import Recipe


class TokenBatches(Batches):
    """A source of batches of tokens, with the loss on held-out answers, which are played once."""

    @classmethod
    def estimate(cls, recipe: Recipe, build: Callable[[Recipe], Any]) -> Estimate:
        """The estimate for a learner of tokens, from a few rows and a few tokens."""
        return language_models.estimate(recipe, build)

    def needs(self) -> dict[str, int]:
        """The bytes by part, from the sizes of the networks and the recipe."""
        return needs.of_tokens(self.parts.recipe, self.actor, self.algorithm, decodes=self.decodes)

    def ends(self) -> Any:
        """The ends of a turn's tokens, by the format."""
        return ends_by(self.actor.format)

    def held_out_loss(self) -> dict[str, float]:
        """The values under `supervised/`; empty if the algorithm imitates nobody else, or nobody can play."""
        if self.parts.source == "play" or not hasattr(self.algorithm, "held_out_loss"):
            return {}
        if self._held_out is None:
            return {}
        values: dict[str, float] = self.algorithm.held_out_loss(self.actor, self._held_out)
        return values

    @cached_property
    def _held_out(self) -> TokenBatch | None:
        return held_out_answers(self.parts)


def held_out_answers(parts: Parts) -> TokenBatch | None:
    """The prepared answers on held-out rows: of the teacher, or for recorded episodes of the task's expert.

    None if the task has no expert.
    """
    settings, actor = parts.recipe.training, parts.actor
    rows = held_out(parts.task, settings.evaluate_split, settings.evaluate_episodes, settings.only)
    queue = [game for i, chunk in enumerate(rows) for game in games(chunk, first=i)]
    player = player_of(parts) if parts.source == "expert" else Expert(parts.task)
    try:
        episodes = play(
            parts.task,
            queue,
            player,
            seed=evaluation_seed(settings.seed),
            split=settings.evaluate_split,
        )
    except BrokenAgent:
        if parts.source == "expert":
            raise
        return None
    episodes = compose.apply(parts.terms, episodes, {game.row.id: game.row for game in queue})
    batch: TokenBatch = parts.algorithm.prepare_held_out(
        token_batch(
            episodes,
            actor.format,
            parts.weights,
            max_length=actor.context,
            room=actor.room,
            side=actor.truncation_side,
            cuts_answers=parts.algorithm.cuts_answers,
        )
    )
    return batch if batch.is_action.any() else None
