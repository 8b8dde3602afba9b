"""Online DPO: DPO on answers that the policy has just given, whose pairs the rewards make (arXiv:2402.04792).

The pairs are those of `dpo`, within the answers to one row: any reward can order them, of a rule, of a reward
model or of a judge. The reference is the start, and each update has new answers of the policy that is
learning. The loss is DPO's, by the full softmax: there is no ratio to the policy that drew the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.on_policy import START, reference_kl
from loquent.algorithms.preference import dpo
from loquent.algorithms.preference.dpo import DPO
from loquent.algorithms.presets import PRESETS
from loquent.core.seeding import Key
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.decoding_settings import check_sampling
from loquent.models.tokens.batch import TokenBatch

LOGGED = logged_keys.BUILT_IN["online_dpo"]


@dataclass(frozen=True, kw_only=True)
class Config(dpo.Config):
    """Settings of `online_dpo`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["online_dpo"]


class OnlineDPO(DPO):
    """DPO on the policy's own answers, which are played for each update."""

    Config: ClassVar[type] = Config
    name = "online_dpo"
    reads = ("play",)
    cuts_answers = False

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        check_sampling(model.decoding, f"but {self.name} compares different answers to a row")
        super().__init__(config, model, key=key)

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over the pairs of a prepared batch; no gradient step if it has none."""
        return {**super().update(model, batch), **reference_kl(batch)}
