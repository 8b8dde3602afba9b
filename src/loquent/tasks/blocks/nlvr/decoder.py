"""From NLVR's pictures to boards, exactly.

NLVR draws its shapes with smooth edges, but the pixels in the middle of a shape, its core, have the pure
colour. Cores of two items never overlap, and the core of each shape and size is always the same. So a board
is an exact cover of the pure pixels by cores. It is found pixel by pixel: the first pixel that is not covered
is the first pixel of some core, which leaves at most nine choices. The largest is tried first.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import opening
from loquent.errors import BadRow
from loquent.tasks.blocks.boards.board import (
    BOX_SIDE,
    COLORS,
    SHAPES,
    SIZES,
    Board,
    Box,
    Item,
    is_tower_board,
)
from loquent.tasks.blocks.nlvr import png

WIDTH, HEIGHT = 400, 100
BOX_STARTS = (0, 150, 300)  # the columns where the boxes begin
BACKGROUND, SEPARATOR = (211, 211, 211), (128, 128, 128)
PURE = {"yellow": (255, 255, 0), "black": (0, 0, 0), "blue": (0, 153, 255)}
ROUND = 1.005  # a pixel is in the core of a circle if its farthest corner is within sqrt(ROUND) radii
MOST_STEPS = 20_000  # cores tried in a box; boards of NLVR need fewer than 100


class Core(NamedTuple):
    """The core of a shape and size, as bits of a box: bit BOX_SIDE * y + x, moved so that its first bit is 0.

    Attributes:
        bits: the pixels of the core.
        left, top: the place of the first pixel in the item.
    """

    shape: int
    size: int
    bits: int
    left: int
    top: int


def decode(picture: NDArray[np.uint8]) -> Board:
    """The board of a picture u8[100, 400, 3] of NLVR.

    The blocks of towers are listed from the bottom to the top; other items from the top of their box to the
    bottom, and from left to right.

    Raises:
        ValueError: the picture has another size, or pixels that no board gives.
    """
    if picture.shape != (HEIGHT, WIDTH, 3):
        raise ValueError(f"the picture has the shape {picture.shape}; it must be {(HEIGHT, WIDTH, 3)}")
    boxes = []
    outside = np.ones(WIDTH, dtype=bool)
    for number, start in enumerate(BOX_STARTS):
        outside[start : start + BOX_SIDE] = False
        boxes.append(_box(picture[:, start : start + BOX_SIDE], number))
    if (picture[:, outside] != SEPARATOR).any():
        raise ValueError("the columns between the boxes are not grey (128, 128, 128)")
    left, middle, right = boxes
    stacked: Board = left[::-1], middle[::-1], right[::-1]
    return stacked if is_tower_board(stacked) else (left, middle, right)


def decode_file(path: Path) -> Board:
    """The board of a PNG file of NLVR.

    Raises:
        BadRow: the file cannot be read or shows no board; names the file.
    """
    try:
        return decode(png.rgb(opening.whole(path)))
    except (OSError, ValueError) as error:
        raise BadRow(f"{error}; it must be a picture of NLVR, 400 x 100 pixels", file=path) from error


@lru_cache(maxsize=1)
def cores() -> tuple[Core, ...]:
    """The nine cores, the largest first."""
    made = []
    for shape, name in enumerate(SHAPES):
        for size in SIZES:
            rows, columns = np.nonzero(_core(name, size))
            first = BOX_SIDE * int(rows[0]) + int(columns[0])
            bits = sum(1 << (BOX_SIDE * int(y) + int(x) - first) for y, x in zip(rows, columns))
            made.append(Core(shape, size, bits, int(columns[0]), int(rows[0])))
    return tuple(sorted(made, key=lambda core: -core.bits.bit_count()))


def _core(shape: str, size: int) -> NDArray[np.bool_]:
    """bool[size, size]: the pure pixels of a shape."""
    if shape == "square":
        return np.ones((size, size), dtype=bool)
    middles = np.arange(size) + 0.5 - size / 2
    farthest = np.abs(middles) + 0.5  # of a pixel's sides from the middle of the item
    if shape == "circle":
        inside: NDArray[np.bool_] = farthest[:, None] ** 2 + farthest**2 <= ROUND * (size / 2) ** 2
        return inside
    half = np.arange(size) // 2  # a triangle grows by one pixel on each side every two rows
    return farthest <= half[:, None]


def _box(pixels: NDArray[np.uint8], number: int) -> Box:
    """The items of a box u8[100, 100, 3], in the order of their first core pixels."""
    items: list[Item] = []
    pure = np.zeros((BOX_SIDE, BOX_SIDE), dtype=bool)
    for color, name in enumerate(COLORS):
        of_color = (pixels == PURE[name]).all(axis=2)
        pure |= of_color
        bits = int.from_bytes(np.packbits(of_color, axis=None, bitorder="little").tobytes(), "little")
        found = _cover(bits, color)
        if found is None:
            raise ValueError(f"the {name} pixels of box {number} are no circles, squares and triangles")
        items += found
    _check_background(pixels, pure, items, number)
    return tuple(sorted(items, key=lambda item: (item.y, item.x)))


def _cover(bits: int, color: int) -> list[Item] | None:
    """Items whose cores cover the bits exactly; None if there are none. Depth first, without recursion."""
    path: list[tuple[int, int, Item]] = []  # the bits before each item, the number of its core, the item
    choice, steps = 0, 0
    while bits:
        first = (bits & -bits).bit_length() - 1
        y, x = divmod(first, BOX_SIDE)
        for number in range(choice, len(cores())):
            core = cores()[number]
            item = Item(x - core.left, y - core.top, core.shape, color, core.size)
            if _fits(item) and (bits >> first) & core.bits == core.bits:
                path.append((bits, number, item))
                bits ^= core.bits << first
                choice = 0
                break
        else:
            if not path or steps > MOST_STEPS:
                return None
            bits, number, _ = path.pop()
            choice = number + 1
        steps += 1
    return [item for _, _, item in path]


def _fits(item: Item) -> bool:
    return 0 <= item.x <= BOX_SIDE - item.size and 0 <= item.y <= BOX_SIDE - item.size


def _check_background(
    pixels: NDArray[np.uint8], pure: NDArray[np.bool_], items: list[Item], number: int
) -> None:
    """ValueError where a pixel outside all items has not the colour of the box."""
    free = ~pure
    for item in items:
        free[item.y : item.y + item.size, item.x : item.x + item.size] = False
    wrong = free & (pixels != BACKGROUND).any(axis=2)
    if wrong.any():
        y, x = (int(each[0]) for each in np.nonzero(wrong))
        seen = tuple(int(channel) for channel in pixels[y, x])
        raise ValueError(f"the pixel ({x}, {y}) of box {number} has the colour {seen} and belongs to no item")
