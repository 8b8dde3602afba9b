"""Running scores of a growing list of labels, at a constant cost per label.

They equal the scores of `metrics.labels.set_scores`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from loquent.metrics.labels.set_scores import best_gain

Labels = tuple[str, ...]
SCORES = ("f1", "exact", "ndcg", "prefix")


@dataclass(frozen=True)
class Tally:
    """Counts of a list of labels: correct labels, their discounted gain, and the common prefix.

    The common prefix is that with the target, as a number of labels.
    """

    right: int = 0
    gain: float = 0.0
    common: int = 0


NOTHING = Tally()


def after_label(tally: Tally, gold: Labels, labels: Labels, label: str) -> Tally:
    """The tally after `label` is appended to `labels`; `gold` is the target."""
    place = len(labels)
    if label not in gold or label in labels:
        return tally
    rank = gold.index(label)
    gain = tally.gain + (len(gold) - rank) / math.log2(place + 2)
    return Tally(tally.right + 1, gain, tally.common + (tally.common == place == rank))


def score_of(name: str, tally: Tally, predicted: int, target: int, empty: float) -> float:
    """A score from a tally and the numbers of predicted and target labels.

    If both numbers are 0, it is `empty` (1 for "exact").
    """
    if name == "f1":
        return 2 * tally.right / (predicted + target) if predicted + target else empty
    if not predicted and not target:
        return 1.0 if name == "exact" else empty
    if name == "exact":
        return float(tally.right == predicted == target)
    if name == "ndcg":
        return tally.gain / best_gain(target) if target else 0.0
    return tally.common / max(predicted, target)
