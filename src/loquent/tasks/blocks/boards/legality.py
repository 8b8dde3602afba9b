"""Which edits of a box are legal, for all cells or pixels at once."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks.boards.board import BOX_SIDE, COLORS, SHAPES, SIZES, Box, Item
from loquent.tasks.blocks.boards.rules import KIND
from loquent.tasks.blocks.geometry.rings import KINDS, LONGEST, size_of
from loquent.tasks.blocks.geometry.sprites import sprite
from loquent.tasks.blocks.geometry.tables import CELL, REACH, tables

Bits = NDArray[np.bool_]
SIDE = BOX_SIDE // CELL  # cells of a row and of a column of a box
CELLS = SIDE * SIDE  # numbered by column, then row
ADDS = CELLS * KINDS * len(COLORS)  # of a box
CACHED = 4096  # boxes
# the bit of `_bits` for each addition: the same for all colors
_KIND_OF_ADD = (
    np.arange(CELLS * KINDS).reshape(CELLS, len(SHAPES), 1, len(SIZES)).repeat(len(COLORS), axis=2).ravel()
)
PIXEL_BOXES = 64  # boxes with cached masks of pixels, 100 kB each


@lru_cache(maxsize=CACHED)
def cells(box: Box) -> tuple[Bits, Bits]:
    """(bool[675], bool[25]): the legal additions at (column, row, shape, color, size), and removals.

    The arrays must not be written to.
    """
    blocked, filled = 0, 0
    for item in box:
        bits = _bits(KIND[item.shape, item.size], item.x, item.y)
        blocked |= bits[0]
        filled |= bits[1]
    fits = _unpacked(_fitting() & ~blocked, CELLS * KINDS)
    return _fixed(fits[_KIND_OF_ADD]), _fixed(_unpacked(filled, CELLS))


@lru_cache(maxsize=CACHED)
def effect(item: Item) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """(i8[675], i8[25]): 0 for additions that an item prevents, else 1; and 1 for the cells that it fills.

    `cells` of a box with one item more is the product of the additions and the union of the cells.
    """
    blocked, filled = _bits(KIND[item.shape, item.size], item.x, item.y)
    free = ~_unpacked(blocked, CELLS * KINDS)[_KIND_OF_ADD]
    return free.astype(np.int8), _unpacked(filled, CELLS).astype(np.int8)


@lru_cache(maxsize=PIXEL_BOXES)
def pixels(box: Box) -> tuple[Bits, Bits]:
    """(bool[100, 100, 9], bool[100, 100]): legal additions at (x, y, kind), and removals at (x, y).

    The arrays must not be written to.
    """
    adds, removals = _inside(BOX_SIDE).copy(), np.zeros((BOX_SIDE, BOX_SIDE), dtype=np.bool_)
    meets = tables().overlap
    for item in box:
        kind = KIND[item.shape, item.size]
        # offsets of the item from an addition at (x, y): (item.x - x, item.y - y), so the table is reversed
        left, top = max(item.x - REACH, 0), max(item.y - REACH, 0)
        right, bottom = min(item.x + REACH + 1, BOX_SIDE), min(item.y + REACH + 1, BOX_SIDE)
        columns = item.x - np.arange(left, right) + REACH
        rows = item.y - np.arange(top, bottom) + REACH
        near = meets[:, kind][:, columns[:, None], rows[None]]
        adds[left:right, top:bottom] &= ~np.moveaxis(near, 0, -1)
        right, bottom = min(item.x + item.size, BOX_SIDE), min(item.y + item.size, BOX_SIDE)
        left, top = max(item.x, 0), max(item.y, 0)
        drawn = sprite(kind).T[left - item.x : right - item.x, top - item.y : bottom - item.y]
        removals[left:right, top:bottom] |= drawn
    return _fixed(adds), _fixed(removals)


@lru_cache(maxsize=1 << 17)  # more than there are kinds and places
def _bits(kind: int, x: int, y: int) -> tuple[int, int]:
    """The additions that an item prevents, bit 9 * cell + kind, and the cells that it fills, as integers."""
    corners = CELL * np.arange(SIDE)
    columns, rows = x - corners, y - corners
    near_x, near_y = np.abs(columns) < LONGEST, np.abs(rows) < LONGEST
    meets = tables().overlap[:, kind][
        :, np.where(near_x, columns, REACH)[:, None] + REACH, np.where(near_y, rows, REACH)[None] + REACH
    ]
    inside_x, inside_y = (columns > -LONGEST) & (columns < CELL), (rows > -LONGEST) & (rows < CELL)
    columns, rows = np.where(inside_x, columns, 0) + LONGEST - 1, np.where(inside_y, rows, 0) + LONGEST - 1
    area = tables().area[kind, columns[:, None], rows[None]]
    filled = (area > 0) & inside_x[:, None] & inside_y[None]
    return _packed(np.moveaxis(meets, 0, -1)), _packed(filled)


@lru_cache(maxsize=1)
def _fitting() -> int:
    """The additions inside the box."""
    return _packed(_inside(BOX_SIDE)[::CELL, ::CELL])


@lru_cache(maxsize=1)
def _inside(side: int) -> Bits:
    """bool[100, 100, 9]: whether an item of a kind at (x, y) is inside the box."""
    inside = np.zeros((side, side, KINDS), dtype=np.bool_)
    for kind in range(KINDS):
        end = side - size_of(kind) + 1
        inside[:end, :end, kind] = True
    return inside


def _packed(bits: Bits) -> int:
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _unpacked(bits: int, count: int) -> Bits:
    data = np.frombuffer(bits.to_bytes((count + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(data, count=count, bitorder="little").view(np.bool_)


def _fixed(bits: Bits) -> Bits:
    bits.flags.writeable = False
    return bits
