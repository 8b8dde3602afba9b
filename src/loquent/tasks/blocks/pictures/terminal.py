"""A board in a terminal: each character stands for a rectangle of pixels, coloured or as a letter."""

from __future__ import annotations

from loquent.tasks.blocks.board import BOX_SIDE, Board, Box
from loquent.tasks.blocks.geometry.rings import kind_of
from loquent.tasks.blocks.pictures.sprites import covers

# characters are twice as high as wide
STEP_X, STEP_Y = 5, 10  # pixels of a character
LETTERS = ("y", "k", "b")  # yellow, black, blue
PAINT = ("\x1b[103m", "\x1b[40m", "\x1b[104m")
GROUND, SEPARATOR, PLAIN = "\x1b[47m", "  ", "\x1b[0m"


def coloured(board: Board) -> str:
    """The boxes side by side: coloured cells on grey, from the pixels in the middle of each cell."""
    lines = []
    for row in range(BOX_SIDE // STEP_Y):
        lines.append(SEPARATOR.join(_painted(_line(box, row)) for box in board))
    return "\n".join(lines) + "\n"


def letters(board: Board) -> str:
    """The boxes side by side: y, k and b for yellow, black and blue, and a dot where nothing is."""
    lines = []
    for row in range(BOX_SIDE // STEP_Y):
        boxes = ("".join(LETTERS[color] if color >= 0 else "." for color in _line(box, row)) for box in board)
        lines.append(SEPARATOR.join(boxes))
    return "\n".join(lines) + "\n"


def _line(box: Box, row: int) -> list[int]:
    """The colour of each character of a line of a box, -1 where nothing is."""
    y = row * STEP_Y + STEP_Y // 2
    return [_color(box, column * STEP_X + STEP_X // 2, y) for column in range(BOX_SIDE // STEP_X)]


def _color(box: Box, x: int, y: int) -> int:
    for item in reversed(box):
        if covers(kind_of(item.shape, item.size), x - item.x, y - item.y):
            return item.color
    return -1


def _painted(colors: list[int]) -> str:
    """Coloured spaces; one sequence per run of equal colours."""
    text, before = "", None
    for color in colors:
        if color != before:
            text += PAINT[color] if color >= 0 else GROUND
            before = color
        text += " "
    return text + PLAIN
