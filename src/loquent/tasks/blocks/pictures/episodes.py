"""Pictures of recorded episodes for reports: the board after each text of the task, as SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loquent.tasks.blocks.boards.board import (
    BOXES,
    COLORS,
    EMPTY_BOARD,
    SHAPES,
    SIZES,
    TOWER_Y,
    Board,
    Item,
    is_tower_board,
    tower_block,
)
from loquent.tasks.blocks.boards.rules import with_box
from loquent.tasks.blocks.edits.positions import SIZE_NAMES
from loquent.tasks.blocks.pictures import tiles

LINE = re.compile(rf"({'|'.join(BOXES)}): (.+)")
ITEM = re.compile(
    rf"({'|'.join(SIZE_NAMES)}) ({'|'.join(COLORS)}) ({'|'.join(SHAPES)}) at "
    r"(-?[0-9]{1,3}) (-?[0-9]{1,3})"
)


def boards(texts: Sequence[str]) -> list[Board | None]:
    """The board after each text of the task, read from the lines of its boxes; None for texts without one.

    A text that was not written by the task ends the reading: all later texts have None.
    """
    board = EMPTY_BOARD
    found: list[Board | None] = []
    for text in texts:
        changed = None
        for line in text.splitlines():
            match = LINE.fullmatch(line)
            if match is None:
                continue
            i = BOXES.index(match[1])
            items = _items(match[2], tiles.PITCH * i)
            if items is None:
                return found + [None] * (len(texts) - len(found))
            board = changed = with_box(board, i, items)
        found.append(changed)
    return found


def pictures(texts: Sequence[str]) -> list[str]:
    """One SVG picture for each text of the task, "" for texts without a board."""
    return ["" if board is None else svg(board) for board in boards(texts)]


def svg(board: Board) -> str:
    """The picture of a board as SVG, with its items as shapes.

    A block of a tower is drawn without its uppermost pixel, so that small pictures show the gaps too.
    """
    cut = int(is_tower_board(board))
    shapes = [f'<rect width="{tiles.WIDTH}" height="{tiles.HEIGHT}" fill="{_color(tiles.SEPARATOR)}"/>']
    for i, box in enumerate(board):
        left = tiles.PITCH * i
        shapes.append(f'<rect x="{left}" width="100" height="100" fill="{_color(tiles.BACKGROUND)}"/>')
        shapes += [_shape(item, left, cut) for item in box]
    view = f"0 0 {tiles.WIDTH} {tiles.HEIGHT}"
    return f'<svg class="picture" viewBox="{view}" role="img" aria-label="the board">{"".join(shapes)}</svg>'


def _items(text: str, left: int) -> tuple[Item, ...] | None:
    """The items of a line; None where it is not one of the task's."""
    if text == "empty":
        return ()
    parts = text.split(", ")
    if all(part in COLORS for part in parts) and len(parts) <= len(TOWER_Y):
        return tuple(tower_block(level, COLORS.index(part)) for level, part in enumerate(parts))
    items = []
    for part in parts:
        match = ITEM.fullmatch(part)
        if match is None:
            return None
        size, color, shape = SIZES[SIZE_NAMES.index(match[1])], COLORS.index(match[2]), SHAPES.index(match[3])
        items.append(Item(int(match[4]) - left, int(match[5]), shape, color, size))
    return tuple(items)


def _shape(item: Item, left: int, cut: int) -> str:
    x, y, size, fill = item.x + left, item.y, item.size, f'fill="{_color(tiles.COLORS[item.color])}"'
    if item.shape == 0:
        radius = size / 2
        return f'<circle cx="{x + radius:g}" cy="{y + radius:g}" r="{radius:g}" {fill}/>'
    if item.shape == 1:
        return f'<rect x="{x}" y="{y + cut}" width="{size}" height="{size - cut}" {fill}/>'
    points = f"{x + size / 2:g},{y} {x},{y + size} {x + size},{y + size}"
    return f'<polygon points="{points}" {fill}/>'


def _color(color: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*color)
