"""How often each label is right, predicted and gold, of all samples and without some of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from loquent.metrics.text import f1_from_counts

Counts = tuple[int, int, int]  # how often a label is right, predicted and gold


class Sums(NamedTuple):
    """Sums over the labels that occur: 1 for each, the counts, F1, and F1 times the number of gold labels."""

    labels: float
    right: float
    predicted: float
    gold: float
    f1: float
    weighted: float


def counts(right: Iterable[str], predicted: Iterable[str], gold: Iterable[str]) -> dict[str, Counts]:
    """The counts of one sample by label."""
    hits, others, own = Counter(right), Counter(predicted), Counter(gold)
    return {label: (hits[label], others[label], own[label]) for label in others | own}


class LabelCounts:
    """The counts of samples, so that leaving some out takes as long as these have labels.

    Args:
        samples: by label the counts of each sample; None for a sample that has no score.
    """

    def __init__(self, samples: Sequence[Mapping[str, Counts] | None]) -> None:
        self._samples, self._present = samples, sum(sample is not None for sample in samples)
        self._all = _total(samples)
        self._sums = _sums(map(_part, self._all.values()))

    def without(self, numbers: Sequence[int] = ()) -> Sums | None:
        """The sums without the samples of these numbers; None if no sample is left."""
        own = [self._samples[number] for number in {*numbers}]
        if sum(sample is not None for sample in own) == self._present:
            return None
        parts = [self._sums]
        for label, gone in _total(own).items():
            before = self._all[label]
            parts.append(Sums(*(-number for number in _part(before))))
            parts.append(_part([a - b for a, b in zip(before, gone, strict=True)]))
        return _sums(parts)


def _total(samples: Iterable[Mapping[str, Counts] | None]) -> dict[str, list[int]]:
    total: dict[str, list[int]] = {}
    for sample in samples:
        for label, own in (sample or {}).items():
            total[label] = [a + b for a, b in zip(total.get(label, (0, 0, 0)), own, strict=True)]
    return total


def _part(own: Sequence[int]) -> Sums:
    """The part of one label in the sums."""
    right, predicted, gold = own
    f1 = f1_from_counts(right, predicted, gold)
    return Sums(bool(predicted or gold), right, predicted, gold, f1, f1 * gold)


def _sums(parts: Iterable[Sums]) -> Sums:
    columns = list(zip(*parts, strict=True))
    return Sums(*map(math.fsum, columns)) if columns else Sums(0, 0, 0, 0, 0.0, 0.0)
