"""The pixels of the nine kinds of items, as runs of each row."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks.geometry.rings import KINDS, size_of

# the first pixel of each row of the upper half of a circle; the lower half mirrors it
CIRCLES = {
    10: (3, 2, 1, 0, 0),
    20: (7, 5, 4, 3, 2, 1, 1, 0, 0, 0),
    30: (11, 9, 7, 6, 5, 4, 3, 2, 2, 1, 1, 0, 0, 0, 0),
}


def runs(kind: int) -> list[tuple[int, int]]:
    """The first pixel and the end of the run of pixels in each row of a kind, from the top."""
    size = size_of(kind)
    if kind < 3:
        upper = [(start, size - start) for start in CIRCLES[size]]
        return upper + upper[::-1]
    if kind < 6:
        return [(0, size)] * size
    return [(size // 2 - (row + 1) // 2, size // 2 + 1 + row // 2) for row in range(size)]


@lru_cache(maxsize=KINDS)
def sprite(kind: int) -> NDArray[np.bool_]:
    """bool[size, size]: True where an item of this kind is drawn; row first."""
    size = size_of(kind)
    pixels = np.zeros((size, size), dtype=np.bool_)
    for row, (start, end) in enumerate(runs(kind)):
        pixels[row, start:end] = True
    pixels.flags.writeable = False
    return pixels


_RUNS = tuple(tuple(runs(kind)) for kind in range(KINDS))


def covers(kind: int, x: int, y: int) -> bool:
    """Whether an item of this kind is drawn at a pixel, counted from its top-left corner."""
    rows = _RUNS[kind]
    if not 0 <= y < len(rows):
        return False
    start, end = rows[y]
    return start <= x < end
