"""Recorded episodes (`training.data`): one batch, read and prepared once, of which each update draws rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loquent.core.task import Row
from loquent.data.pools import Pool, Sampler
from loquent.errors import BadCheckpoint
from loquent.files import saved_state
from loquent.models.tokens.batch import TokenBatch
from loquent.training.experience.held_out import TokenBatches
from loquent.training.experience.source import Parts
from loquent.training.recorded.recording import RunRewards, record


class RecordedEpisodes(TokenBatches):
    """Draws rows of a recording: each row once in a pass, and each pass in a new order."""

    recorded = True
    player = "recorded episodes"

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        rewards = RunRewards(parts.terms, parts.weights, self.learner)
        cuts = parts.algorithm.cuts_answers
        self.recording = record(self.settings, parts.task, parts.actor, rewards, cuts)
        self.prepared: TokenBatch = parts.algorithm.prepare(self.recording.batch)
        rows = Pool(tuple(Row(str(i)) for i in range(len(self.prepared))))
        self.sampler = Sampler(rows, parts.key.child("recorded rows"))

    def next(self) -> tuple[TokenBatch, dict[str, float]]:
        """The next rows, and the values under `data/`."""
        with self.phase("collect"):
            batch = self.draw(self.settings.episodes)
        self.games += len(batch)
        return batch, {
            "data/return": float(batch.reward[batch.is_action].double().sum()) / len(batch),
            "data/tokens": float(batch.is_action.sum()) / len(batch),
            "data/passes": self.passes,
        }

    def _cut_share(self, logs: Mapping[str, float]) -> float:
        """The share of all recorded rows."""
        return self.recording.cut_rows

    def draw(self, rows: int) -> TokenBatch:
        """The next rows of the pass."""
        return self.prepared.take([int(row.id) for row in self.sampler.draw(rows)])

    @property
    def passes(self) -> float:
        """The number of passes over the recording so far; an unfinished pass counts as a fraction."""
        sampler = self.sampler
        return float(sampler.epoch + sampler.place / sampler.size)

    def description(self) -> dict[str, Any]:
        """What the recording holds, and its digest."""
        return self.recording.as_json()

    def state_dict(self) -> dict[str, Any]:
        """The position in the pass, and the digest of the recording."""
        return {**super().state_dict(), "digest": self.recording.digest}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the position; BadCheckpoint if the recorded episodes have changed."""
        if (saved := saved_state.field(state, "digest")) != self.recording.digest:
            what = "training.data, its filters or its layout have changed"
            raise BadCheckpoint(
                f"{what}: the digest of the episodes was {saved} and is {self.recording.digest} now; resume "
                "with the data of the run"
            )
        super().load_state_dict(state)
