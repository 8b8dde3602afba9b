"""First boards of flip-it rows: random boards, and for each a board close to it with the other truth value.

The two boards of a pair are at most `STEPS` edits apart in both directions, so every row can be solved.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from loquent.core.seeding import Key
from loquent.tasks.blocks import rules
from loquent.tasks.blocks.board import BOX_SIDE, SIZES, Board, Box, Item, tower_block
from loquent.tasks.blocks.statements.words import PLACES, Subject

TRIES = 100  # random boards per statement
STEPS = 4  # edits between the two boards of a pair
CELL = 20  # pixels of the grid's cells
MOST_ITEMS = 7  # of a box
FEW_ITEMS = 5  # random items of a box are fewer than these
FITTING = 20  # places tried for an item

AT_ONCE = 1024
ANY: Subject = (-1, -1, -1, -1)


class Draw:
    """Draws of one keyed stream, made many at a time because single draws of numpy are slow."""

    def __init__(self, key: Key) -> None:
        self._rng = key.generator()
        self._left: list[float] = []

    def uniform(self) -> float:
        """A number in [0, 1)."""
        if not self._left:
            self._left = self._rng.random(AT_ONCE).tolist()
        return self._left.pop()

    def below(self, n: int) -> int:
        """An integer from 0 to n - 1."""
        return int(self.uniform() * n)


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
            item = _item(subject, draw)
            for _ in range(FITTING):
                in_cell = number < special or draw.uniform() < 0.3
                placed = _in_cell(item, subject[3], draw) if in_cell else _anywhere(item, draw)
                if not rules.misfit(box, placed):
                    box = (*box, placed)
                    break
        boxes.append(box)
    left, middle, right = boxes
    return left, middle, right


def _item(subject: Subject, draw: Draw) -> Item:
    """A random item of a kind; its place is open."""
    shape, color, size, _ = subject
    random = [draw.below(3) for _ in range(3)]
    return Item(
        0,
        0,
        random[0] if shape < 0 else shape,
        random[1] if color < 0 else color,
        SIZES[random[2]] if size < 0 else size,
    )


def _in_cell(item: Item, place: int, draw: Draw) -> Item:
    """The item in a random cell: mostly at the place, where there is one."""
    cells = (BOX_SIDE - item.size) // CELL + 1
    last = CELL * (cells - 1)
    x, y = CELL * draw.below(cells), CELL * draw.below(cells)
    if place >= 0 and draw.uniform() < 0.75:
        name = PLACES[place]
        if name in ("left", "right"):
            x = last if name == "right" else 0
        elif name in ("top", "bottom"):
            y = last if name == "bottom" else 0
        elif name == "corner":
            x, y = last * draw.below(2), last * draw.below(2)
        else:
            x, y = CELL * (1 + draw.below(cells - 2)), CELL * (1 + draw.below(cells - 2))
    return item._replace(x=x, y=y)


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


def edited_items(board: Board, i: int, about: tuple[Subject, ...], removed: float, draw: Draw) -> Board:
    """The board after a random edit of box `i` that another edit takes back; the same board if none is drawn.

    Args:
        about: kinds of items; most items that are added are of one of them.
        removed: the probability to remove an item.
    """
    box = board[i]
    if box and draw.uniform() < removed:
        place = draw.below(len(box))
        item, rest = box[place], rules.without(box, place)
        if _added(rest, item, i) == (*rest, item) and _removable(box, place):
            return rules.with_box(board, i, rest)
        return board
    if len(box) >= MOST_ITEMS:
        return board
    subject = about[draw.below(len(about))] if about and draw.uniform() < 0.7 else ANY
    grown = _added(box, _in_cell(_item(subject, draw), subject[3], draw), i)
    return rules.with_box(board, i, grown) if grown and _removable(grown, len(grown) - 1) else board


def _added(box: Box, item: Item, i: int) -> Box | None:
    """The box after the item is added in a cell of the grid; None where this is not possible."""
    if item.x % CELL or item.y % CELL:
        return None
    return None if rules.misfit(box, item) else (*box, rules.snapped(box, item, i, False))


def _removable(box: Box, place: int) -> bool:
    """Whether some cell of the grid removes the item."""
    item = box[place]
    columns, rows = (
        range(start // CELL * CELL, min(start + item.size, BOX_SIDE), CELL) for start in (item.x, item.y)
    )
    return any(rules.item_of_cell(box, x, y) == place for x, y in product(columns, rows))
