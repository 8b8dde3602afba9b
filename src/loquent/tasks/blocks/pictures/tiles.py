"""Pictures of boards, full and half size. An edit draws one item and reduces the pixels around it.

A picture depends on the board alone. The released code of arXiv:2211.01994 paints over its last picture, and
a removed item then leaves marks.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks.board import BOX_SIDE, Board, Box, Item
from loquent.tasks.blocks.geometry.rings import kind_of
from loquent.tasks.blocks.pictures.sprites import sprite

Pixels = NDArray[np.uint8]
WIDTH, HEIGHT, PITCH = 380, 100, 140
BACKGROUND, SEPARATOR = (211, 211, 211), (128, 128, 128)
COLORS = ((250, 255, 0), (0, 0, 0), (15, 131, 255))  # yellow, black, blue
CACHED = 512  # boxes whose tiles are cached, 38 kB each


def full(board: Board) -> Pixels:
    """u8[100, 380, 3]: the picture of a board in red, green and blue."""
    picture = _FULL.copy()
    for i, box in enumerate(board):
        if box:
            picture[:, PITCH * i : PITCH * i + BOX_SIDE] = _tile(box)[0]
    return picture


def half(board: Board) -> Pixels:
    """u8[50, 190, 3]: each pixel is the mean of 2 x 2 pixels of the full picture, without its decimals."""
    picture = _HALF.copy()
    for i, box in enumerate(board):
        if box:
            picture[:, PITCH // 2 * i : PITCH // 2 * i + BOX_SIDE // 2] = _tile(box)[1]
    return picture


def half_of_box(box: Box) -> Pixels:
    """u8[50, 50, 3]: the part of a box in the half picture; not to be written to."""
    return _tile(box)[1]


def full_of_box(box: Box) -> Pixels:
    """u8[100, 100, 3]: the part of a box in the full picture; not to be written to."""
    return _tile(box)[0]


@lru_cache(maxsize=CACHED)
def _tile(box: Box) -> tuple[Pixels, Pixels]:
    """The full and the half tile: those of the box without its last item, with that item drawn on them."""
    if not box:
        return _FULL[:, :BOX_SIDE], _HALF[:, : BOX_SIDE // 2]
    below, small = _tile(box[:-1])
    tile, reduced = below.copy(), small.copy()
    left, top, right, bottom = _draw(tile, box[-1])
    part = tile[top:bottom, left:right].astype(np.uint16)
    sums = part[::2, ::2] + part[1::2, ::2] + part[::2, 1::2] + part[1::2, 1::2]
    reduced[top // 2 : bottom // 2, left // 2 : right // 2] = sums >> 2
    tile.flags.writeable = reduced.flags.writeable = False
    return tile, reduced


def _draw(tile: Pixels, item: Item) -> tuple[int, int, int, int]:
    """Draw an item; returns the even rectangle (left, top, right, bottom) around it, inside the box.

    The rules "legacy" move items up to 2 pixels out of their box; those pixels are not drawn.
    """
    x, y, size = item.x, item.y, item.size
    left, top = max(x, 0), max(y, 0)
    right, bottom = min(x + size, BOX_SIDE), min(y + size, BOX_SIDE)
    drawn = sprite(kind_of(item.shape, size))[top - y : bottom - y, left - x : right - x]
    tile[top:bottom, left:right][drawn] = COLORS[item.color]
    return left & ~1, top & ~1, right + (right & 1), bottom + (bottom & 1)


def _empty(scale: int) -> Pixels:
    picture = np.full((HEIGHT // scale, WIDTH // scale, 3), BACKGROUND, dtype=np.uint8)
    for i in range(2):
        left = (PITCH * i + BOX_SIDE) // scale
        picture[:, left : left + (PITCH - BOX_SIDE) // scale] = SEPARATOR
    return picture


_FULL, _HALF = _empty(1), _empty(2)
