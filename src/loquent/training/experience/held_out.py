"""Held-out answers for learners that imitate: what the teacher says on the rows of evaluations."""

from __future__ import annotations

from functools import cached_property

from loquent.agents.scripted import Expert
from loquent.core.rollout.loop import games, play
from loquent.data.pools import evaluation_seed, held_out
from loquent.errors import BrokenAgent
from loquent.models.tokens.batch import TokenBatch, token_batch
from loquent.rewards import compose
from loquent.training.experience.source import Parts, player_of


class HeldOut:
    """The held-out answers of a run, which are played once, and their loss."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts

    def loss(self) -> dict[str, float]:
        """The values under `supervised/`; empty if the algorithm does not imitate, or nobody can play."""
        algorithm = self.parts.algorithm
        if not hasattr(algorithm, "held_out_loss") or self._batch is None:
            return {}
        values: dict[str, float] = algorithm.held_out_loss(self.parts.actor, self._batch)
        return values

    @cached_property
    def _batch(self) -> TokenBatch | None:
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
