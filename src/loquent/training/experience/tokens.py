"""Played episodes as batches of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loquent.core.episode import Episode
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch, token_batch
from loquent.models.tokens.rewards import ends_by, learner_rewards
from loquent.pretrained.footprint import products
from loquent.training.estimates import language_models, needs
from loquent.training.estimates.estimate import Estimate
from loquent.training.experience import summary
from loquent.training.experience.held_out import HeldOut
from loquent.training.experience.played import Played
from loquent.training.experience.source import Parts
from loquent.training.recipes import Recipe


class PlayedTokens(Played):
    """Episodes of a language model, or of a teacher, as a `TokenBatch`."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.decodes = parts.source == "play"
        self._held_out = HeldOut(parts)

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
        """The loss on held-out answers of a learner that imitates; empty for others."""
        return self._held_out.loss()

    def rewarded(self, episodes: Sequence[Episode]) -> list[Episode]:
        """The episodes with the rewards of all terms, per token too."""
        return learner_rewards(self.parts.terms, episodes, self.rows, self.learner, self.actor.format)

    def batch(self, episodes: Sequence[Episode]) -> TokenBatch:
        """The tokens and rewards of the episodes, and if the algorithm needs them, all scores."""
        actor = self.actor
        batch = token_batch(
            episodes,
            actor.format,
            self.parts.weights,
            max_length=actor.context,
            room=actor.room,
            side=actor.truncation_side,
            cuts_answers=self.algorithm.cuts_answers,
        )
        batch = batch.to(actor.device)
        with products(actor.policy):
            own = self.algorithm
            return score(actor, batch, tempered=own.tempered) if own.scored else batch

    def summary(self, episodes: Sequence[Episode], batch: TokenBatch) -> dict[str, float]:
        """The values under `rollout/` for answers of tokens."""
        return summary.tokens(
            episodes, batch, self.parts.weights, self.task.spec, answers=self.settings.answers
        )
