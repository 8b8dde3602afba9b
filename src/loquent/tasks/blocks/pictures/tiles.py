"""Pictures of boards, full and half size. An edit draws one item and reduces the pixels around it.

A picture depends on the board alone. The released code of arXiv:2211.01994 paints over its last picture, and
a removed item then leaves marks.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks.boards.board import BOX_SIDE, Board, Box, Item
from loquent.tasks.blocks.geometry.rings import kind_of
from loquent.tasks.blocks.geometry.sprites import sprite

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
            tile = box_tile(box)
            if tile.outside:
                return _whole(board)
            picture[:, PITCH * i : PITCH * i + BOX_SIDE] = tile.full
    return picture


def half(board: Board) -> Pixels:
    """u8[50, 190, 3]: each pixel is the mean of 2 x 2 pixels of the full picture, without its decimals."""
    picture = _HALF.copy()
    for i, box in enumerate(board):
        if box:
            tile = box_tile(box)
            if tile.outside:
                return halve(_whole(board))
            picture[:, PITCH // 2 * i : PITCH // 2 * i + BOX_SIDE // 2] = tile.half
    return picture


def halve(picture: Pixels) -> Pixels:
    """The mean of each 2 x 2 pixels of a picture with an even height and width, without its decimals."""
    part = picture.astype(np.uint16)
    sums = part[::2, ::2] + part[1::2, ::2] + part[::2, 1::2] + part[1::2, 1::2]
    return (sums >> 2).astype(np.uint8)


class Tile(NamedTuple):
    """The part of a box in both pictures, and whether an item leaves the box, as rules "legacy" allow.

    `full` is u8[100, 100, 3] and `half` u8[50, 50, 3]; neither may be written to.
    """

    full: Pixels
    half: Pixels
    outside: bool


@lru_cache(maxsize=CACHED)
def box_tile(box: Box) -> Tile:
    """The tile of the box without its last item, with that item drawn on it."""
    if not box:
        return Tile(_FULL[:, :BOX_SIDE], _HALF[:, : BOX_SIDE // 2], False)
    below, item = box_tile(box[:-1]), box[-1]
    tile, small = below.full.copy(), below.half.copy()
    inside = _draw(tile, item, item.x)
    left, top = max(item.x, 0) & ~1, max(item.y, 0) & ~1
    right, bottom = item.x + item.size + 1, item.y + item.size + 1  # the halves cut off an odd end
    part = tile[top : bottom & ~1, left : right & ~1]
    small[top // 2 : bottom // 2, left // 2 : right // 2] = halve(part)
    tile.flags.writeable = small.flags.writeable = False
    return Tile(tile, small, below.outside or not inside)


def _whole(board: Board) -> Pixels:
    """The picture, with items that reach out of their boxes."""
    picture = _FULL.copy()
    for i, box in enumerate(board):
        for item in box:
            _draw(picture, item, item.x + PITCH * i)
    return picture


def _draw(pixels: Pixels, item: Item, x: int) -> bool:
    """Draw an item whose left edge is at x, and cut off what does not fit; returns whether all fits."""
    y, size = item.y, item.size
    height, width = pixels.shape[:2]
    left, top, right, bottom = max(x, 0), max(y, 0), min(x + size, width), min(y + size, height)
    drawn = sprite(kind_of(item.shape, size))[top - y : bottom - y, left - x : right - x]
    pixels[top:bottom, left:right][drawn] = COLORS[item.color]
    return right - left == bottom - top == size


def _empty(scale: int) -> Pixels:
    picture = np.full((HEIGHT // scale, WIDTH // scale, 3), BACKGROUND, dtype=np.uint8)
    for i in range(2):
        left = (PITCH * i + BOX_SIDE) // scale
        picture[:, left : left + (PITCH - BOX_SIDE) // scale] = SEPARATOR
    picture.flags.writeable = False
    return picture


_FULL, _HALF = _empty(1), _empty(2)
