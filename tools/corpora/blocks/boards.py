"""First boards of flip-it rows: random boards, and for each a board close to it with the other truth value.

The two boards of a pair are at most `STEPS` edits apart in both directions, so every row can be solved.
"""

from __future__ import annotations

from collections.abc import Callable

from loquent.tasks.blocks.boards import rules
from loquent.tasks.blocks.boards.board import BOX_SIDE, Board, Box, Item, tower_block
from loquent.tasks.blocks.boards.random_edits import ANY, Draw, Subject, edited_items, item_of_kind, to_cell

TRIES = 100  # random boards per statement
STEPS = 4  # edits between the two boards of a pair
FEW_ITEMS = 5  # random items of a box are fewer than these
FITTING = 20  # places tried for an item


def pair(
    appearance: str, about: tuple[Subject, ...], truth: Callable[[Board], bool], draw: Draw
) -> tuple[Board, Board] | None:
    """Two boards with items, on which the truth values differ; None if none are found.

    Args:
        about: the towers or items that the statement is about.
        truth: the value of its program.
    """
    new, edit = (_towers, _edited_towers) if appearance == "tower" else (_scattered, _edited_items)
    for _ in range(TRIES):
        board = new(about, draw)
        if not any(board):
            continue
        value, near = truth(board), board
        for _ in range(STEPS):
            near = edit(near, about, draw)
            if any(near) and truth(near) != value:
                return board, near
    return None


def _towers(about: tuple[Subject, ...], draw: Draw) -> Board:
    """Three towers: each empty, with random blocks, or one of those in `about`."""
    left, middle, right = (_tower(about, draw) for _ in range(3))
    return left, middle, right


def _tower(about: tuple[Subject, ...], draw: Draw) -> Box:
    u = draw.uniform()
    if about and u < 0.5:
        colors = about[draw.below(len(about))]
    else:
        height = 0 if u > 0.7 else 1 + draw.below(4)
        colors = tuple(draw.below(3) for _ in range(height))
    return tuple(tower_block(level, c) for level, c in enumerate(colors))


def _edited_towers(board: Board, about: tuple[Subject, ...], draw: Draw) -> Board:
    i = draw.below(3)
    box = board[i]
    if box and (len(box) == 4 or draw.uniform() < 0.5):
        return rules.with_box(board, i, box[:-1])
    return rules.with_box(board, i, (*box, tower_block(len(box), draw.below(3))))


def _scattered(about: tuple[Subject, ...], draw: Draw) -> Board:
    """Up to four random items a box, and up to three items in all of the kinds in `about`, in grid cells."""
    boxes: list[Box] = []
    of_kind = draw.below(4) if about else 0
    for i in range(3):
        box: Box = ()
        special = draw.below(of_kind + 1) if i < 2 else of_kind
        of_kind -= special
        for number in range(special + draw.below(FEW_ITEMS)):
            subject = about[draw.below(len(about))] if number < special else ANY
            item = item_of_kind(subject, draw)
            for _ in range(FITTING):
                gridded = number < special or draw.uniform() < 0.3
                placed = to_cell(item, subject[3], draw) if gridded else _anywhere(item, draw)
                if not rules.misfit(box, placed):
                    box = (*box, placed)
                    break
        boxes.append(box)
    left, middle, right = boxes
    return left, middle, right


def _anywhere(item: Item, draw: Draw) -> Item:
    """The item at a random pixel, sometimes at a wall."""
    room = BOX_SIDE - item.size
    x, y = draw.below(room + 1), draw.below(room + 1)
    if draw.uniform() < 0.3:
        wall = room if draw.uniform() < 0.5 else 0
        x, y = (wall, y) if draw.uniform() < 0.5 else (x, wall)
    return item._replace(x=x, y=y)


def _edited_items(board: Board, about: tuple[Subject, ...], draw: Draw) -> Board:
    return edited_items(board, draw.below(3), about, 0.5, draw)
