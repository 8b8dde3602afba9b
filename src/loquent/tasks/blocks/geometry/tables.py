"""The tables of the geometry, loaded once: overlap, distance and snap of two items, area in a cell.

Offsets are those of the second item from the first, in pixels.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path

import numpy as np

from loquent.data import corpora
from loquent.tasks.blocks.geometry.nearest import nearest_points
from loquent.tasks.blocks.geometry.rings import KINDS, LONGEST, ring

FILE = Path(__file__).with_name("tables.npz")
CELL = 20  # pixels, the side of a cell of the grid
MOST_GAP = 4  # pixels: an item snaps to a neighbour at an integer-truncated distance of at most this
REACH = LONGEST + MOST_GAP  # offsets from -REACH to REACH
FAR = MOST_GAP + 1  # stands for every larger distance
WIDTH = 2 * REACH + 1
SPAN = LONGEST + CELL - 1


class Tables:
    """The four tables.

    Attributes:
        overlap: bool[9, 9, 69, 69]: whether the interiors of two items meet, by kinds and offset + 34.
        distance: int8[9, 9, 69, 69]: their distance without its decimals; 5 for more, and for items that
            meet.
        snap: int8[9, 9, 69, 69, 2]: where the first item moves to touch the second.
        area: uint16[9, 49, 49]: the rank of the area of an item in a cell, by its offset + 29 from the cell;
            0 where they do not meet.
    """

    def __init__(self) -> None:
        with np.load(io.BytesIO(corpora.contents(FILE)), allow_pickle=False) as file:
            shape = (KINDS, KINDS, WIDTH, WIDTH)
            self.overlap = (
                np.unpackbits(file["overlap"], count=np.prod(shape)).astype(np.bool_).reshape(shape)
            )
            self.distance, self.snap, self.area = file["gap"][..., 0], file["gap"][..., 1:], file["area"]
        # bytes and nested tuples answer a single question many times faster than arrays
        self.overlap_bytes = tuple(
            tuple(self.overlap[a, b].tobytes() for b in range(KINDS)) for a in range(KINDS)
        )
        self.distance_bytes = tuple(
            tuple(np.ascontiguousarray(self.distance[a, b]).tobytes() for b in range(KINDS))
            for a in range(KINDS)
        )
        self._area = tuple(self.area[kind].ravel().tolist() for kind in range(KINDS))

    def meet(self, a: int, b: int, x: int, y: int) -> bool:
        """Whether the interiors of kind `a` and kind `b` at the offset (x, y) meet."""
        if not (-REACH <= x <= REACH and -REACH <= y <= REACH):
            return False
        return self.overlap_bytes[a][b][(x + REACH) * WIDTH + y + REACH] == 1

    def gap(self, a: int, b: int, x: int, y: int) -> int:
        """The distance without its decimals; FAR for more than 4 pixels."""
        if not (-REACH <= x <= REACH and -REACH <= y <= REACH):
            return FAR
        return self.distance_bytes[a][b][(x + REACH) * WIDTH + y + REACH]

    def move(self, a: int, b: int, x: int, y: int) -> tuple[int, int]:
        """The vector by which kind `a` moves to touch kind `b` at the offset (x, y)."""
        move = self.snap[a, b, x + REACH, y + REACH]
        return int(move[0]), int(move[1])

    def area_rank(self, kind: int, x: int, y: int) -> int:
        """The rank of the area of a kind in a cell, at the offset (x, y) from the cell; 0: none."""
        if not (-LONGEST < x < CELL and -LONGEST < y < CELL):
            return 0
        return self._area[kind][(x + LONGEST - 1) * SPAN + y + LONGEST - 1]


@lru_cache(maxsize=1)
def tables() -> Tables:
    """The tables of this package; LoquentError where their file is damaged."""
    return Tables()


@lru_cache(maxsize=4096)
def snap_of_circles(a: int, x: int, y: int, b: int, x_b: int, y_b: int) -> tuple[int, int]:
    """The vector by which a circle at (x, y) of the picture moves to touch another, as in the released code.

    Two polygons of circles can be equally near at several points. There the rounding of the coordinates
    decides, so the vector depends on the place in the picture. All other pairs have one vector for an offset.
    """
    p, q = nearest_points(ring(a, x, y), ring(b, x_b, y_b))
    return int(q[0]) - int(p[0]), int(q[1]) - int(p[1])
