"""Cloning of the episodes with the highest returns: %BC of arXiv:2206.11871 sec. 6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from loquent.algorithms.imitation import cloning
from loquent.algorithms.imitation.cloning import LOGGED, Cloning
from loquent.core.settings import setting
from loquent.data.filters import shares
from loquent.models.tokens.batch import TokenBatch

__all__ = ["LOGGED", "Config", "FilteredCloning"]


@dataclass(frozen=True, kw_only=True)
class Config(cloning.Config):
    """Settings of `filtered_cloning`."""

    top: float = setting(
        0.1,
        "share of episodes to learn from, those with the highest returns",
        source="2206.11871: 0.1, 0.2, 0.3",
        low=0.0,
        high=1.0,
    )


class FilteredCloning(Cloning):
    """Cloning of the best share of all recorded episodes, or of each collection where an agent plays."""

    Config: ClassVar[type] = Config
    name = "filtered_cloning"

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The rows of the best episodes; pure. Episodes without rows do not count.

        Raises:
            BadSetting: the share is too small for one episode.
        """
        episodes, index = batch.episode.unique(return_inverse=True)
        returns = torch.zeros(len(episodes), dtype=torch.float64).index_add_(
            0, index.cpu(), batch.reward.double().sum(1).cpu()
        )
        selected = torch.from_numpy(shares(returns.numpy(), top=self.config.top))
        return super().prepare(batch.take(torch.isin(index.cpu(), selected)))

    def prepare_held_out(self, batch: TokenBatch) -> TokenBatch:
        """The rows of all held-out episodes; pure."""
        return super().prepare(batch)
