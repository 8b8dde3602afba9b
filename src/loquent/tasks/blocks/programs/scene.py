"""A board as programs see it: boxes of things with colors, shapes, sizes and sides.

Vertical positions count upwards here: `top` and `bottom` are distances from the floor of the box. Things and
boxes are equal only to themselves. The hash of every object is the same in every process. So the order of a
set, and with it the value of a program, never changes from run to run.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import lru_cache

from loquent.errors import ProgramBudgetError
from loquent.tasks.blocks.boards.board import BOX_SIDE, Board, Item

MOST_ITEMS = 100  # of a board that a program reads
KEPT_SCENES = 4096
KEPT_BOXES = 16_384


class Constant(Enum):
    """A constant of the language; equal only to itself."""

    def __hash__(self) -> int:
        return int(self.value)


class Color(Constant):
    """The colors; no item is gray."""

    YELLOW, BLACK, BLUE, GRAY = range(4)


class Shape(Constant):
    """The shapes."""

    CIRCLE, SQUARE, TRIANGLE = range(3)


class Size(Constant):
    """The sizes, in pixels."""

    SMALL, MEDIUM, BIG = 10, 20, 30


class Side(Constant):
    """The sides of a box."""

    RIGHT, LEFT, TOP, BOTTOM, ANY = range(5)


COLORS, SHAPES = tuple(Color)[:3], tuple(Shape)  # in the order of the numbers of a board
SIZES = {size.value: size for size in Size}


class Thing:
    """An item of a board. `related` keeps the sets of its related things, computed on first use."""

    __slots__ = ("bottom", "box", "color", "index", "left", "related", "right", "shape", "size", "top")
    box: Box

    def __init__(self, index: int, item: Item) -> None:
        x, y, shape, color, size = item
        self.index = index
        self.left, self.right = x, x + size
        self.top, self.bottom = BOX_SIDE - y, BOX_SIDE - y - size
        self.color, self.shape, self.size = COLORS[color], SHAPES[shape], SIZES[size]
        self.related: dict[str, set[Thing]] = {}

    def __hash__(self) -> int:
        return self.index


class Box(tuple[Thing, ...]):
    """A box: its things in the order of the board. An empty box is false, as every empty sequence."""

    number: int
    things: list[Thing]
    highest: int  # the top edge of its highest thing
    lowest: int  # the lowest of the top edges of its things
    tower: bool

    def __new__(cls, number: int, things: Iterable[Thing]) -> Box:
        box = super().__new__(cls, things)
        box.number, box.things = number, list(box)
        tops = [thing.top for thing in box]
        box.highest, box.lowest = max(tops, default=0), min(tops, default=0)
        box.tower = len({thing.right for thing in box}) == 1 and all(t.shape is Shape.SQUARE for t in box)
        for thing in box:
            thing.box = box
        return box

    __eq__ = object.__eq__
    __ne__ = object.__ne__

    def __hash__(self) -> int:
        return self.number

    def all_items_in_box(self) -> list[Thing]:
        """The things of the box as a list, which nobody changes."""
        return self.things

    def is_tower(self) -> bool:
        """Whether the box has things, all of them are squares, and all have the same right edge."""
        return self.tower


class Scene:
    """The two names that a program reads: all boxes, and the things of all boxes in their order."""

    __slots__ = ("all_boxes", "all_items")

    def __init__(self, board: Board) -> None:
        if sum(map(len, board)) > MOST_ITEMS:
            raise ProgramBudgetError(
                f"the board has {sum(map(len, board))} items; programs read boards of at most {MOST_ITEMS}"
            )
        self.all_items: list[Thing] = []
        self.all_boxes: list[Box] = []
        for number, items in enumerate(board):
            box = _box_of(number, items, len(self.all_items))
            self.all_items += box.things
            self.all_boxes.append(box)


@lru_cache(KEPT_BOXES)
def _box_of(number: int, items: tuple[Item, ...], first: int) -> Box:
    """The box of some items, the first of which has the index `first` on the board.

    Scenes share the last `KEPT_BOXES` boxes, because an edit changes one box of three.
    """
    return Box(number, [Thing(index, item) for index, item in enumerate(items, first)])


@lru_cache(KEPT_SCENES)
def scene_of(board: Board) -> Scene:
    """The scene of a board; the last `KEPT_SCENES` scenes are kept.

    Raises:
        ProgramBudgetError: the board has more than `MOST_ITEMS` items.
    """
    return Scene(board)
