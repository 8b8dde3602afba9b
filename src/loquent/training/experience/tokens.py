"""Played episodes as batches of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.core.episode import Episode
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch, token_batch
from loquent.models.tokens.rewards import learner_rewards
from loquent.pretrained.footprint import products
from loquent.training.experience import summary
from loquent.training.experience.held_out import TokenBatches
from loquent.training.experience.rollouts import Played
from loquent.training.experience.source import Parts


class PlayedTokens(TokenBatches, Played):
    """Episodes of a language model, or of a teacher, as a `TokenBatch`."""

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.decodes = parts.source == "play"

    def add_rewards(self, episodes: Sequence[Episode]) -> list[Episode]:
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
            if not own.scored:
                return batch
            return score(actor, batch, tempered=own.tempered, support=own.rescores)

    def summary(self, episodes: Sequence[Episode], batch: TokenBatch) -> dict[str, float]:
        """The values under `rollout/` for answers of tokens."""
        return summary.tokens(
            episodes, batch, self.parts.weights, self.task.spec, answers=self.settings.answers
        )
