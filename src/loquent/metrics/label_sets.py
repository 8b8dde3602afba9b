"""Scores of sets and rankings of labels: per text, over a corpus (micro, macro, mean over texts), and of their order.

A prediction is a list: what stands twice in it counts twice against precision. Where nothing is right and nothing was predicted,
`empty` is the score. Nothing here changes its arguments.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Labels = Sequence[str]


def precision(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """The share of the predicted labels that are right, each right one counted once."""
    if not predicted:
        return empty if not gold else 0.0
    return len(set(gold) & set(predicted)) / len(predicted)


def recall(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """The share of the right labels that were predicted."""
    if not gold:
        return empty if not predicted else 0.0
    return len(set(gold) & set(predicted)) / len(set(gold))


def f1(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """The harmonic mean of both (arXiv:2011.08272, for one text)."""
    return f1_of(len(set(gold) & set(predicted)), len(predicted), len(set(gold)), empty)


def f1_of(right: int, found: int, wanted: int, empty: float = 0.0) -> float:
    """F1 from counts."""
    return 2 * right / (found + wanted) if found + wanted else empty


def exact(gold: Labels, predicted: Labels) -> float:
    """1 when the predicted labels are the right ones, in any order, none twice."""
    return float(len(predicted) == len(set(predicted)) and set(gold) == set(predicted))


def jaccard(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """The labels in both over the labels in either, as sets."""
    either = set(gold) | set(predicted)
    return len(set(gold) & set(predicted)) / len(either) if either else empty


def hamming(gold: Labels, predicted: Labels, labels: int) -> float:
    """The share of all `labels` that are wrongly there or wrongly not there, as sets: 0 is best."""
    return len(set(gold) ^ set(predicted)) / labels


def ndcg(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """How well the order agrees: the gain of the k-th of m right labels is m - k + 1, discounted by log2(place + 1), over the best there is.

    A label that is wrong, or stands there again, gains nothing and takes its place. (Järvelin and Kekäläinen 2002, with ranks as grades.)
    """
    if not gold:
        return empty if not predicted else 0.0
    grades = {label: len(gold) - place for place, label in reversed(list(enumerate(gold)))}
    total = 0.0
    for place, label in enumerate(predicted):
        total += grades.pop(label, 0) / math.log2(place + 2)
    return total / best_gain(len(gold))


def gain(gold: Labels, predicted: Labels, place: int) -> float:
    """What the label at a place adds to the discounted gain."""
    label = predicted[place]
    if label not in gold or label in predicted[:place]:
        return 0.0
    return (len(gold) - list(gold).index(label)) / math.log2(place + 2)


def best_gain(count: int) -> float:
    """The discounted gain of so many labels in their right order."""
    return sum((count - place) / math.log2(place + 2) for place in range(count))


def prefix(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """How far the order is right from the first label on: the common beginning over the longer of the two."""
    longer = max(len(gold), len(predicted))
    common = next((i for i, (a, b) in enumerate(zip(gold, predicted)) if a != b), min(len(gold), len(predicted)))
    return common / longer if longer else empty


def sample_f1(gold: Sequence[Labels], predicted: Sequence[Labels], empty: float = 0.0) -> float:
    """The mean over texts of each one's F1; 0 for no text."""
    pairs = _pairs(gold, predicted)
    return sum(f1(a, b, empty) for a, b in pairs) / len(pairs) if pairs else 0.0


def micro_f1(gold: Sequence[Labels], predicted: Sequence[Labels], empty: float = 0.0) -> float:
    """F1 of all (text, label) pairs together."""
    pairs = _pairs(gold, predicted)
    right = sum(len(set(a) & set(b)) for a, b in pairs)
    return f1_of(right, sum(len(b) for _, b in pairs), sum(len(set(a)) for a, _ in pairs), empty)


def macro_f1(gold: Sequence[Labels], predicted: Sequence[Labels], empty: float = 0.0) -> float:
    """The mean over the labels that occur of each one's F1 over all texts."""
    right, found, wanted = Counter[str](), Counter[str](), Counter[str]()
    for a, b in _pairs(gold, predicted):
        right.update(set(a) & set(b))
        found.update(b)
        wanted.update(set(a))
    labels = found.keys() | wanted.keys()
    return math.fsum(f1_of(right[label], found[label], wanted[label]) for label in labels) / len(labels) if labels else empty


def accuracy(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """The share of answers that are right; 0 for none at all."""
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} answers are scored against {len(predicted)}")
    return sum(a == b for a, b in zip(gold, predicted, strict=True)) / len(gold) if gold else 0.0


def _pairs(gold: Sequence[Labels], predicted: Sequence[Labels]) -> list[tuple[Labels, Labels]]:
    if len(gold) != len(predicted):
        raise ValueError(f"the labels of {len(gold)} texts are scored against those of {len(predicted)}")
    return list(zip(gold, predicted, strict=True))
