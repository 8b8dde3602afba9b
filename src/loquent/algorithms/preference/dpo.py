"""DPO and its relatives: the policy learns from pairs of answers against a reference, without a reward model.

Sources: arXiv:2305.18290 (DPO), arXiv:2310.12036 (IPO), arXiv:2403.00409 (robust DPO). A part of a minibatch
takes one forward pass of the policy; the reference's log-probabilities come with the batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from loquent.algorithms import logged_keys
from loquent.algorithms.preference import losses
from loquent.algorithms.preference.learner import (
    LossOfPart,
    PairLearner,
    PairsConfig,
    PreferenceConfig,
    log_ratios,
    rewards_of,
)
from loquent.algorithms.preference.pairs import Units
from loquent.algorithms.presets import PRESETS
from loquent.core.settings import redefault, setting
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.models.actor import Actor
from loquent.pretrained.learning.gradient_step import Loss

LOGGED = logged_keys.BUILT_IN["dpo"]
SMOOTHED = ("sigmoid", "sigmoid_norm", "robust")


@dataclass(frozen=True, kw_only=True)
class Config(PairsConfig):
    """Settings of `dpo`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["dpo"]
    loss: str = setting(
        "sigmoid",
        "the loss of a pair; sigmoid_norm and ipo divide log-ratios by the tokens of their answer",
        source="2305.18290 eq. 7; ipo: 2310.12036 eq. 17; robust: 2403.00409",
        choices=losses.KINDS,
    )
    beta: float = redefault(
        PreferenceConfig,
        "beta",
        0.1,
        source="2305.18290 app. B",
        why="β: how strongly the policy stays near the reference; τ of ipo",
        low=1e-9,
    )
    label_smoothing: float = setting(
        0.0,
        "ε, the share of pairs with the wrong answer first: conservative DPO, or unbiased with loss = robust",
        source="2403.00409",
        low=0.0,
        high=0.5,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        what = f"Config.label_smoothing = {self.label_smoothing} with loss = {self.loss!r}"
        if self.loss == "robust" and not 0 < self.label_smoothing < 0.5:
            raise BadSetting(
                f"{what}; robust DPO needs the share of wrong pairs, above 0 and below 0.5, for example 0.1; "
                "without wrong pairs set loss to 'sigmoid'"
            )
        if self.label_smoothing and self.loss not in SMOOTHED:
            raise BadSetting(f"{what}, which has no smoothing; set it to 0, or loss to 'sigmoid'")


class DPO(PairLearner):
    """Direct preference optimisation of the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "dpo"

    def loss(self, model: Actor, minibatch: Units) -> LossOfPart:
        """The sum of `losses.dpo_loss` over the pairs of a part."""
        config = self.config

        def of_part(part: Units) -> Loss:
            ratios = log_ratios(model, part)
            loss = losses.dpo_loss(
                ratios,
                part.lengths,
                kind=config.loss,
                beta=config.beta,
                label_smoothing=config.label_smoothing,
            )
            return Loss(loss.sum(), {"preference/loss": loss, **rewards_of(config.beta * ratios)})

        return of_part
