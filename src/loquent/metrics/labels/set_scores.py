"""Scores of sets and rankings of labels: per text, over a corpus, and of their order.

A prediction is a list, so a repeated label counts twice in the denominator of precision. `empty` is the score
without gold labels and without predicted labels. No function changes its arguments.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from loquent.metrics.text import f1_from_counts

Labels = Sequence[str]


def f1(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """The harmonic mean of precision and recall (arXiv:2011.08272, for one text)."""
    return f1_from_counts(len(set(gold) & set(predicted)), len(predicted), len(set(gold)), empty)


def exact(gold: Labels, predicted: Labels) -> float:
    """1 if the predicted labels are the gold labels in any order, without repetition; else 0."""
    return float(len(predicted) == len(set(predicted)) and set(gold) == set(predicted))


def jaccard(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """The size of the intersection divided by the size of the union, as sets."""
    union = set(gold) | set(predicted)
    return len(set(gold) & set(predicted)) / len(union) if union else empty


def hamming(gold: Labels, predicted: Labels, labels: int) -> float:
    """The number of labels in exactly one of both sets, divided by the number of all `labels`: 0 is best."""
    return len(set(gold) ^ set(predicted)) / labels


def ndcg(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """Normalised discounted cumulative gain of the order (Järvelin and Kekäläinen 2002).

    The grades are ranks.

    The gain of the k-th of m gold labels is m - k + 1, divided by log2(place + 1). The sum is divided by the
    best possible sum. A wrong or repeated label has gain 0 and takes a place.
    """
    if not gold:
        return empty if not predicted else 0.0
    grades = {label: len(gold) - place for place, label in reversed(list(enumerate(gold)))}
    total = 0.0
    for place, label in enumerate(predicted):
        total += grades.pop(label, 0) / math.log2(place + 2)
    return total / best_gain(len(gold))


def best_gain(count: int) -> float:
    """The discounted cumulative gain of `count` labels in their gold order."""
    return sum((count - place) / math.log2(place + 2) for place in range(count))


def prefix(gold: Labels, predicted: Labels, empty: float = 0.0) -> float:
    """The length of the common prefix, divided by the length of the longer list."""
    longer = max(len(gold), len(predicted))
    common = next(
        (i for i, (a, b) in enumerate(zip(gold, predicted)) if a != b), min(len(gold), len(predicted))
    )
    return common / longer if longer else empty


def sample_f1(gold: Sequence[Labels], predicted: Sequence[Labels], empty: float = 0.0) -> float:
    """The mean F1 over texts; 0 without texts."""
    pairs = _pairs(gold, predicted)
    return sum(f1(a, b, empty) for a, b in pairs) / len(pairs) if pairs else 0.0


def micro_f1(gold: Sequence[Labels], predicted: Sequence[Labels], empty: float = 0.0) -> float:
    """F1 of all (text, label) pairs together."""
    pairs = _pairs(gold, predicted)
    right = sum(len(set(a) & set(b)) for a, b in pairs)
    return f1_from_counts(right, sum(len(b) for _, b in pairs), sum(len(set(a)) for a, _ in pairs), empty)


def macro_f1(gold: Sequence[Labels], predicted: Sequence[Labels], empty: float = 0.0) -> float:
    """The mean over the labels that occur of the label's F1 over all texts."""
    right, predictions, golds = Counter[str](), Counter[str](), Counter[str]()
    for a, b in _pairs(gold, predicted):
        right.update(set(a) & set(b))
        predictions.update(b)
        golds.update(set(a))
    labels = predictions.keys() | golds.keys()
    scores = [f1_from_counts(right[label], predictions[label], golds[label]) for label in labels]
    return math.fsum(scores) / len(scores) if scores else empty


def accuracy(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """The share of correct answers; 0 without answers."""
    pairs = _pairs(gold, predicted)
    return sum(a == b for a, b in pairs) / len(pairs) if pairs else 0.0


def _pairs(gold: Sequence[Labels], predicted: Sequence[Labels]) -> list[tuple[Labels, Labels]]:
    if len(gold) != len(predicted):
        raise ValueError(
            f"{len(gold)} gold items and {len(predicted)} predicted items; equal numbers are needed"
        )
    return list(zip(gold, predicted, strict=True))
