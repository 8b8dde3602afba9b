"""The board: three boxes of items, and the published JSON form of it (Suhr et al. 2017, lilGym 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from loquent.core import schema
from loquent.errors import BadRow

APPEARANCES = ("tower", "scatter")
BOXES = ("left", "middle", "right")
SHAPES = ("circle", "square", "triangle")
COLORS = ("yellow", "black", "blue")
SIZES = (10, 20, 30)  # pixels
BOX_SIDE = 100  # pixels
TOWER_X = 40  # of every block of a tower
TOWER_Y = (80, 59, 38, 17)  # of the blocks of a tower from the bottom to the top, with a gap of 1 pixel
JSON_COLORS = ("Yellow", "Black", "#0099ff")  # in the order of COLORS
FIELDS = ("x_loc", "y_loc", "size", "color", "type")


class Item(NamedTuple):
    """An item of a box. A named tuple, because boards are hashed and compared at every step.

    Attributes:
        x: the column of its left edge in the box, in pixels from the left, 0 to 99.
        y: the row of its top edge in the box, in pixels from the top, 0 to 99.
        shape: 0 circle, 1 square, 2 triangle.
        color: 0 yellow, 1 black, 2 blue.
        size: its width and height: 10, 20 or 30 pixels.
    """

    x: int
    y: int
    shape: int
    color: int
    size: int


Box = tuple[Item, ...]
Board = tuple[Box, Box, Box]
EMPTY_BOARD: Board = ((), (), ())


def tower_block(level: int, color: int) -> Item:
    """The block of a tower at a level, 0 (bottom) to 3 (top)."""
    return Item(TOWER_X, TOWER_Y[level], 1, color, 20)


def is_tower_board(board: Board) -> bool:
    """Whether every box holds one tower of 0 to 4 medium squares, listed from the bottom to the top."""
    return all(
        len(box) <= len(TOWER_Y)
        and all(item == tower_block(level, item.color) for level, item in enumerate(box))
        for box in board
    )


def board_to_json(board: Board) -> list[list[dict[str, Any]]]:
    """The board in the published form `structured_rep`: a list of three boxes, each a list of items."""
    return [
        [
            dict(zip(FIELDS, (i.x, i.y, i.size, JSON_COLORS[i.color], SHAPES[i.shape]), strict=True))
            for i in box
        ]
        for box in board
    ]


def board_from_json(structured: Any, place: str = "structured_rep") -> Board:
    """The board of a value in the published form; the order of the items is kept.

    Args:
        place: the name of the value in error messages.

    Raises:
        BadRow: the value is not three lists of items, or a field of an item is missing, unknown or out of its
            range; the message names the place, such as `structured_rep[1][0].color`.
    """
    try:
        left, middle, right = (tuple(map(_item, box)) for box in schema.check_of(_Boxes)(structured))
    except ValueError as error:
        raise BadRow(f"{place}{error}") from None
    return left, middle, right


@dataclass(frozen=True)
class _Published:
    """An item in the published form."""

    x_loc: int
    y_loc: int
    size: Literal[10, 20, 30]
    color: Literal["Yellow", "Black", "#0099ff"]
    type: Literal["circle", "square", "triangle"]

    def __post_init__(self) -> None:
        most = BOX_SIDE - self.size
        for name, value in (("x_loc", self.x_loc), ("y_loc", self.y_loc)):
            if not 0 <= value <= most:
                raise ValueError(
                    f".{name} must be an integer from 0 to {most} (size {self.size}), got {value}"
                )


_Box = tuple[_Published, ...]
_Boxes = tuple[_Box, _Box, _Box]


def _item(item: _Published) -> Item:
    shape, color = SHAPES.index(item.type), JSON_COLORS.index(item.color)
    return Item(item.x_loc, item.y_loc, shape, color, item.size)
