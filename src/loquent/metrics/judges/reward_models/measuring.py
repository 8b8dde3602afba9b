"""How good a reward model is on held-out pairs: accuracy, ROC-AUC and calibration.

Intervals resample prompts, because pairs of one prompt are not independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.data.preferences.pair import Pair
from loquent.statistics.classification import Bin, calibration_error, reliability, roc_auc
from loquent.statistics.resampling import Bounds, Numbers, Resampling, bounds

Values = NDArray[np.float64]
BINS = 5  # between 1/2, the confidence of a guess, and 1


@dataclass(frozen=True)
class Scored:
    """The scores [n] of the chosen and of the rejected texts of n pairs, and the loss of the objective."""

    chosen: Values
    rejected: Values
    loss: float

    @property
    def all(self) -> Values:
        """All 2 n scores."""
        return np.concatenate([self.chosen, self.rejected])

    @property
    def right(self) -> Values:
        """By pair 1 if the chosen text has the higher score, 1/2 for equal scores, and 0 else."""
        difference = self.chosen - self.rejected
        return (np.sign(difference) + 1) / 2

    @property
    def accuracy(self) -> float:
        """The mean of `right`."""
        return float(self.right.mean())


@dataclass(frozen=True)
class Quality:
    """The figures of a reward model on held-out pairs.

    `accuracy` is the share of pairs whose chosen text has the higher score. `roc_auc` is the probability that
    a chosen text has a higher score than a rejected text of any pair. `calibration_error` compares the
    confidence max(p, 1 - p), p = sigmoid(difference of scores), with the share of right pairs.
    """

    pairs: int
    prompts: int
    loss: float
    accuracy: float
    roc_auc: float
    calibration_error: float
    reliability: list[Bin]
    accuracy_bounds: Bounds
    roc_auc_bounds: Bounds

    def as_json(self) -> dict[str, Any]:
        """All figures by name."""
        return asdict(self) | {
            "accuracy_bounds": self.accuracy_bounds.as_json(),
            "roc_auc_bounds": self.roc_auc_bounds.as_json(),
        }


def quality(scored: Scored, pairs: Sequence[Pair], settings: Resampling | None = None) -> Quality:
    """The figures of the scores of some pairs."""
    settings = settings or Resampling()
    table = reliability(*confidence(scored), low=0.5, bins=BINS)
    values = {"accuracy": scored.accuracy, "roc_auc": _auc(scored.chosen, scored.rejected)}
    groups: dict[str, list[int]] = {}
    for number, one in enumerate(pairs):
        groups.setdefault(one.prompt or one.item, []).append(number)
    members = [np.array(own) for own in groups.values()]

    def resample(chosen: Numbers) -> dict[str, float]:
        own = np.concatenate([members[i] for i in chosen])
        return {
            "accuracy": float(scored.right[own].mean()),
            "roc_auc": _auc(scored.chosen[own], scored.rejected[own]),
        }

    limits = bounds(resample, len(members), values, settings)
    error = calibration_error(table)
    assert error is not None  # there is a pair
    return Quality(
        len(pairs),
        len(groups),
        scored.loss,
        values["accuracy"],
        values["roc_auc"],
        error,
        table,
        limits["accuracy"],
        limits["roc_auc"],
    )


def confidence(scored: Scored) -> tuple[Values, list[bool]]:
    """By pair the probability of the text that the model prefers, and whether raters prefer it.

    Equal scores count as right and wrong in turn.
    """
    difference = scored.chosen - scored.rejected
    ties = np.cumsum(difference == 0) % 2 == 1
    right = (difference > 0) | ((difference == 0) & ties)
    return 1 / (1 + np.exp(-np.abs(difference))), right.tolist()


def _auc(chosen: Values, rejected: Values) -> float:
    area = roc_auc(np.concatenate([chosen, rejected]), [True] * len(chosen) + [False] * len(rejected))
    assert area is not None  # there is a pair, so both classes have a text
    return area
