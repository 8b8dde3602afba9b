"""Counts of items in samples, such as n-grams in texts, from which samples can be left out."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class Occurrences:
    """How often each item occurs in samples.

    Args:
        samples: the items of each sample.
    """

    def __init__(self, samples: Iterable[Iterable[Hashable]]) -> None:
        numbers: dict[Hashable, int] = {}
        self._own = [
            np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)
            for items in samples
        ]
        self._different = len(numbers)
        self._counts = self._count(range(len(self._own)))

    def without(self, left_out: Sequence[int] = ()) -> Numbers:
        """The count of each item: int64[different items], without the samples of these numbers."""
        return self._counts - self._count(left_out) if left_out else self._counts

    def _count(self, samples: Sequence[int]) -> Numbers:
        own = [self._own[number] for number in samples]
        return np.bincount(np.concatenate(own) if own else [], minlength=self._different)
