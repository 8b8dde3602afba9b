"""Best-of-n distillation: the policy imitates the best of its own answers to each row.

Sources: ReST (arXiv:2308.08998 sec. 3), which keeps the answers whose reward is at least a threshold, and
RAFT (arXiv:2304.06767 alg. 1), which keeps the best answer to each prompt. In an update the policy answers
each row several times, and learns the answers that are kept. An episode of many turns is one answer: its
return is that of the whole episode, and all of its turns are learned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool
from torch import Tensor

from loquent.algorithms import logged_keys
from loquent.algorithms.imitation import supervised
from loquent.algorithms.imitation.supervised import Supervised
from loquent.algorithms.policy_gradient.episode_groups import episodes_of
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.algorithms.shared import comparison
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.models.actor import Actor
from loquent.models.decoding_settings import check_sampling
from loquent.models.tokens.batch import TokenBatch

LOGGED = logged_keys.BUILT_IN["reinforced_self_training"]
WITHOUT_STEP: Mapping[str, float] = {
    **dict.fromkeys(("supervised/loss", "gradient/norm", "reward/kept"), math.nan),
    **dict.fromkeys(("supervised/tokens", "supervised/episodes", "gradient/steps"), 0.0),
}


@dataclass(frozen=True, kw_only=True)
class Config(supervised.Config):
    """Settings of `reinforced_self_training`."""

    keep: int | None = setting(
        1,
        "answers to each row to learn from: those with the highest returns (of equal ones the first); none: "
        "all",
        source="2304.06767 alg. 1: 1",
        low=1,
    )
    threshold: float | None = setting(
        None, "least return of an answer to learn from; none: any", source="2308.08998 sec. 3, τ"
    )

    def steps_of_update(self, episodes: int) -> int:
        """0 if answers are left out, as the rows and their returns decide how many are learned."""
        keeps_all = self.keep is None and self.threshold is None
        return super().steps_of_update(episodes) if keeps_all else 0


class BestOfN(Supervised):
    """Cross-entropy on the best answers that the policy itself gives to each row."""

    Config: ClassVar[type] = Config
    name = "reinforced_self_training"
    reads = ("play",)
    least_answers = 2

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        check_sampling(model.decoding, f"but {self.name} learns the best of different answers to a row")
        super().__init__(config, model, key=key)

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The rows of the kept answers, or all rows if no answer is kept; pure."""
        batch = super().prepare(batch)
        kept = self.choose_rows(batch)
        return batch.take(kept) if bool(kept.any()) else batch

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over the kept answers of a prepared batch; no gradient step if none is kept."""
        kept = self.choose_rows(batch)
        if not bool(kept.any()):
            self.updates += 1
            return {**WITHOUT_STEP, "learning_rate": self.gradient.rate}
        batch = batch.take(kept)
        episodes = episodes_of(batch)
        return {
            **super().update(model, batch),
            "supervised/episodes": float(len(episodes.group)),
            "reward/kept": float(episodes.sums(batch.reward.double()).mean()),
        }

    def choose_rows(self, batch: TokenBatch) -> Bool[Tensor, " B"]:
        """Whether the answer of each row is learned."""
        episodes = episodes_of(batch)
        returns = episodes.sums(batch.reward.double())
        kept = torch.ones_like(returns, dtype=torch.bool)
        if self.config.keep is not None:
            kept &= comparison.rank(returns, episodes.group) < self.config.keep
        if self.config.threshold is not None:
            kept &= returns >= self.config.threshold
        return kept[episodes.number]
