"""A board in a terminal: each character stands for a rectangle of pixels, in colours or as a letter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks.boards.board import BOX_SIDE, COLORS, Board, Box, is_tower_board
from loquent.tasks.blocks.geometry.rings import kind_of
from loquent.tasks.blocks.geometry.sprites import sprite

WIDTH, HEIGHT = 5, 10  # pixels of a character, which is twice as high as wide
SHOWN = 0.3  # the least share of a rectangle's pixels for which an item is shown
LETTERS = ".ykb"  # nothing, yellow, black, blue
UPPER = ("\x1b[37m", "\x1b[93m", "\x1b[30m", "\x1b[94m")  # the colour of the upper half of a character
LOWER = ("\x1b[47m", "\x1b[103m", "\x1b[40m", "\x1b[104m")
HALF_BLOCK, SEPARATOR, PLAIN = "\u2580", "  ", "\x1b[0m"


def render_ansi(board: Board) -> str:
    """The boxes side by side on grey; a character shows two squares of 5 x 5 pixels.

    The blocks of a tower are drawn 5 pixels apart, so that each can be seen.
    """
    shown = [_apart(box) for box in board] if is_tower_board(board) else board
    boxes = [_cells(box, HEIGHT // 2) for box in shown]
    lines = []
    for row in range(0, BOX_SIDE // WIDTH, 2):
        parts = (
            "".join(
                f"{UPPER[top]}{LOWER[bottom]}{HALF_BLOCK}" for top, bottom in zip(cells[row], cells[row + 1])
            )
            for cells in boxes
        )
        lines.append(SEPARATOR.join(part + PLAIN for part in parts))
    return "\n".join(lines) + "\n"


def letters(board: Board) -> str:
    """The boxes side by side: y, k and b for yellow, black and blue, and a dot where nothing is."""
    boxes = [_cells(box, HEIGHT) for box in board]
    lines = (
        SEPARATOR.join("".join(LETTERS[color] for color in cells[row]) for cells in boxes)
        for row in range(BOX_SIDE // HEIGHT)
    )
    return "\n".join(lines) + "\n"


def _apart(box: Box) -> Box:
    """A tower with gaps of 5 pixels in place of 1."""
    return tuple(item._replace(y=item.y - 4 * level) for level, item in enumerate(box))


def _cells(box: Box, height: int) -> list[list[int]]:
    """What each rectangle of 5 x `height` pixels shows, by rows: 0, or 1 + the color with the most pixels."""
    pixels = _pixels(box).reshape(BOX_SIDE // height, height, BOX_SIDE // WIDTH, WIDTH)
    counts = np.stack([(pixels == color).sum(axis=(1, 3)) for color in range(1, 1 + len(COLORS))])
    shown = counts.sum(axis=0) >= SHOWN * WIDTH * height
    return np.where(shown, 1 + counts.argmax(axis=0), 0).tolist()


def _pixels(box: Box) -> NDArray[np.int8]:
    """i8[100, 100]: 0, or 1 + the color of the item that is drawn there."""
    margin = BOX_SIDE  # for items that leave the box
    pixels = np.zeros((BOX_SIDE + 2 * margin,) * 2, dtype=np.int8)
    for item in box:
        left, top = item.x + margin, item.y + margin
        part = pixels[top : top + item.size, left : left + item.size]
        part[sprite(kind_of(item.shape, item.size))] = 1 + item.color
    return pixels[margin:-margin, margin:-margin]
