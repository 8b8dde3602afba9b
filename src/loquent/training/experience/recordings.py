"""Recorded episodes (`training.data`): one batch, read and prepared once, of which each update draws rows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.data.pools import Pool, Sampler
from loquent.errors import BadCheckpoint
from loquent.files import saved_state
from loquent.models.score.tokens import score
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.footprint import products
from loquent.training.experience.held_out import TokenBatches
from loquent.training.experience.source import Parts
from loquent.training.recorded.groups import Groups
from loquent.training.recorded.recording import RunRewards, record


class RecordedEpisodes(TokenBatches):
    """Draws rows of a recording: each row once in a pass, and each pass in a new order.

    For a learner that compares answers (`least_answers` above 1) it draws whole groups, the answers to one
    row, each once in a pass. An update then has groups until it has `training.episodes` episodes or more.
    """

    recorded = True
    player = "recorded episodes"

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        rewards = RunRewards(parts.terms, parts.weights, self.learner)
        cuts = parts.algorithm.cuts_answers
        self.compares = type(parts.algorithm).least_answers > 1
        least = parts.algorithm.least_recorded if self.compares else None
        self.recording = record(self.settings, parts.task, parts.actor, rewards, cuts, least)
        if remark := parts.algorithm.remark(self.recording.batch):
            warnings.warn(f"training.data: {remark}", Remark, stacklevel=2)
        rows = self.recording.batch if parts.algorithm.scored else self.batch
        units = self.recording.groups if self.compares else range(len(rows))
        pool = Pool(tuple(Row(str(unit)) for unit in units))
        self.sampler = Sampler(pool, parts.key.child("recorded rows"))

    @cached_property
    def batch(self) -> TokenBatch:
        """The whole recording, prepared; scored at the first draw, when a resumed run has its reference."""
        batch, own = self.recording.batch, self.algorithm
        if own.scored:
            with products(self.actor.policy):
                batch = score(self.actor, batch, tempered=own.tempered)
        prepared: TokenBatch = own.prepare(batch)
        return prepared

    @cached_property
    def groups(self) -> Groups:
        """The groups of the prepared recording."""
        return Groups(self.batch)

    def next(self) -> tuple[TokenBatch, dict[str, float]]:
        """The next rows, and the values under `data/`."""
        if self.algorithm.scored:
            with self.phase("score"):
                _ = self.batch  # the whole recording, at the first draw
        with self.phase("collect"):
            batch = self.draw(self.settings.episodes)
        count = len(set(batch.episode.tolist())) if self.compares else len(batch)
        self.games += count
        return batch, {
            "data/return": float(batch.reward[batch.is_action].double().sum()) / count,
            "data/tokens": float(batch.is_action.sum()) / count,
            "data/passes": self.passes,
        }

    def _cut_share(self, logs: Mapping[str, float]) -> float:
        """The share of all recorded rows."""
        return self.recording.cut_rows

    def draw(self, count: int) -> TokenBatch:
        """The next rows of the pass; or the next groups, until they have so many episodes or more."""
        if not self.compares:
            return self.batch.take([int(row.id) for row in self.sampler.draw(count)])
        numbers: list[int] = []
        while count > 0:
            numbers += [int(row.id) for row in self.sampler.draw(1)]
            count -= self.groups.size(numbers[-1])
        return self.groups.take(numbers)

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
