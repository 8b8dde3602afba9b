"""Random items and edits of scattered boards: in cells of the grid, and such that an edit takes them back."""

from __future__ import annotations

from itertools import product

from loquent.core.seeding import Key
from loquent.tasks.blocks.boards import rules
from loquent.tasks.blocks.boards.board import BOX_SIDE, SIZES, Board, Box, Item
from loquent.tasks.blocks.geometry.tables import CELL

MOST_ITEMS = 7  # of a box

AT_ONCE = 1024
# the colours of a tower from the bottom to the top; or the shape, colour, size and place of an item, where -1
# is any, and the place is an index into PLACES
Subject = tuple[int, ...]
ANY: Subject = (-1, -1, -1, -1)
PLACES = ("left", "right", "top", "bottom", "corner", "inside")


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


def item_of_kind(subject: Subject, draw: Draw) -> Item:
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


def to_cell(item: Item, place: int, draw: Draw) -> Item:
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
    grown = _added(box, to_cell(item_of_kind(subject, draw), subject[3], draw), i)
    return rules.with_box(board, i, grown) if grown and _removable(grown, len(grown) - 1) else board


def _added(box: Box, item: Item, i: int) -> Box | None:
    """The box after the item is added in a cell of the grid; None where this is not possible."""
    if item.x % CELL or item.y % CELL:
        return None
    return None if rules.misfit(box, item) else (*box, rules.snap_item(box, item, i, False))


def _removable(box: Box, place: int) -> bool:
    """Whether some cell of the grid removes the item."""
    item = box[place]
    columns, rows = (
        range(start // CELL * CELL, min(start + item.size, BOX_SIDE), CELL) for start in (item.x, item.y)
    )
    return any(rules.item_of_cell(box, x, y) == place for x, y in product(columns, rows))
