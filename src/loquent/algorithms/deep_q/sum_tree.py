"""A sum tree: draws numbers in proportion to their weights, and changes weights, in logarithmic time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class SumTree:
    """Weights of `size` places, in a complete binary tree of sums (arXiv:1511.05952 app. B.2.1)."""

    def __init__(self, size: int) -> None:
        self.size, self.depth = size, max(1, size - 1).bit_length()
        self._sums = np.zeros(2 << self.depth)  # node i has the children 2i and 2i + 1; 1 is the root

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self._sums[1])

    def weights(self, places: NDArray[np.int64]) -> NDArray[np.float64]:
        """The weights of places."""
        return self._sums[places + (1 << self.depth)]

    def put(self, places: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        """Set the weights of places; of a place that occurs twice, the last weight counts."""
        nodes = places + (1 << self.depth)
        self._sums[nodes] = weights
        for _ in range(self.depth):
            nodes = np.unique(nodes >> 1)
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]

    def find(self, reached: NDArray[np.float64]) -> NDArray[np.int64]:
        """The first place where the running sum of the weights exceeds each number of [0, total)."""
        nodes, left = np.ones(len(reached), np.int64), reached.copy()
        for _ in range(self.depth):
            nodes <<= 1
            right = (left >= self._sums[nodes]) & (self._sums[nodes + 1] > 0)
            left -= np.where(right, self._sums[nodes], 0.0)
            nodes += right
        return nodes - (1 << self.depth)
