"""Running scores of labels that are being inserted: each step costs the same. They equal those of `metrics.label_sets`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from loquent.metrics.label_sets import best_gain

Labels = tuple[str, ...]
SCORES = ("f1", "exact", "ndcg", "prefix")


@dataclass(frozen=True)
class Tally:
    """How many right labels are there, their discounted gain, and how long the common beginning with the right order is."""

    right: int = 0
    gain: float = 0.0
    common: int = 0


NOTHING = Tally()


def after_label(tally: Tally, gold: Labels, labels: Labels, label: str) -> Tally:
    """The tally once `label` was inserted behind `labels`."""
    place = len(labels)
    if label not in gold or label in labels:
        return tally
    rank = gold.index(label)
    gain = tally.gain + (len(gold) - rank) / math.log2(place + 2)
    return Tally(tally.right + 1, gain, tally.common + (tally.common == place == rank))


def score_of(name: str, tally: Tally, found: int, wanted: int, empty: float) -> float:
    """A score from a tally and the counts of labels there and of right ones; `empty` where both are 0."""
    if name == "f1":
        return 2 * tally.right / (found + wanted) if found + wanted else empty
    if not found and not wanted:
        return 1.0 if name == "exact" else empty
    if name == "exact":
        return float(tally.right == found == wanted)
    if name == "ndcg":
        return tally.gain / best_gain(wanted) if wanted else 0.0
    return tally.common / max(found, wanted)
