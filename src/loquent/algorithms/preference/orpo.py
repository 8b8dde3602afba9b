"""ORPO: cross-entropy on the chosen answer and the odds ratio of a pair, without a reference.

Source: arXiv:2403.07691.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
import torch.nn.functional as F

from loquent.algorithms import logged_keys
from loquent.algorithms.imitation.supervised import every_token
from loquent.algorithms.policy_gradient.episode_groups import episodes_of
from loquent.algorithms.preference import losses
from loquent.algorithms.preference.learner import (
    LossOfPart,
    PairLearner,
    PairsConfig,
    PreferenceConfig,
    logprobs,
    rewards_of,
)
from loquent.algorithms.preference.pairs import Units
from loquent.algorithms.presets import PRESETS
from loquent.core.settings import redefault, setting
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.pretrained.learning.gradient_step import Loss

LOGGED = logged_keys.BUILT_IN["orpo"]


@dataclass(frozen=True, kw_only=True)
class Config(PairsConfig):
    """Settings of `orpo`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["orpo"]
    beta: float = redefault(
        PreferenceConfig, "beta", 0.1, source="2403.07691; TRL", why="λ, the weight of the odds ratio"
    )
    learn_on: str = setting(
        "answer",
        "what the cross-entropy counts: the chosen answer's tokens, or all tokens, prompts included",
        source="2403.07691 eq. 6; TRL and the released code count all",
        choices=("answer", "all"),
    )


class ORPO(PairLearner):
    """Odds-ratio preference optimisation of the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "orpo"
    scored = False
    unused_of_model = ("critic", "reference", "lora.dropout")
    per_step = (*PairLearner.per_step, "preference/nll", "preference/log_odds")

    def loss(self, model: Actor, minibatch: Units) -> LossOfPart:
        """The mean negative log-likelihood of the chosen answers' tokens - λ log σ(log odds ratio).

        As a sum over the pairs of a part, which is divided by the pairs of the minibatch.
        """
        weight = len(minibatch) / float(self.tokens_to_learn(minibatch).lengths[:, 0].sum())
        beta = self.config.beta

        def of_part(part: Units) -> Loss:
            learned = self.tokens_to_learn(part)
            values = logprobs(model, learned.batch)
            answers = values[part.batch.is_action[learned.batch.is_action]]
            means = part.sums(answers) / part.lengths
            log_odds = losses.log_odds_ratio(means)
            nll = -learned.sums(values)[:, 0] * weight
            loss = nll - beta * F.logsigmoid(log_odds)
            logged = {"preference/loss": loss, "preference/nll": nll, "preference/log_odds": log_odds}
            return Loss(loss.sum(), logged | rewards_of(beta * means))

        return of_part

    def tokens_to_learn(self, units: Units) -> Units:
        """The pairs with `is_action` true on the tokens that the cross-entropy counts, and on all answers."""
        if self.config.learn_on == "answer":
            return units
        batch = units.batch
        chosen = torch.isin(episodes_of(batch).number, units.members[:, 0])
        counted = batch.is_action | (every_token(batch) & chosen[:, None])
        return replace(units, batch=replace(batch, is_action=counted))
