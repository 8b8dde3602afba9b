"""The board: three boxes of items, and the published JSON form of it (Suhr et al. 2017, lilGym 2022)."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from loquent.core.guards.json_files import shown
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
    if not isinstance(structured, list) or len(structured) != len(BOXES):
        _refuse(place, "a list of 3 boxes", structured)
    left, middle, right = (_box(box, f"{place}[{i}]") for i, box in enumerate(structured))
    return left, middle, right


def _box(box: Any, place: str) -> Box:
    if not isinstance(box, list):
        _refuse(place, "a list of items", box)
    return tuple(_item(item, f"{place}[{i}]") for i, item in enumerate(box))


def _item(item: Any, place: str) -> Item:
    if not isinstance(item, dict) or set(item) != set(FIELDS):
        _refuse(place, f"an object with the fields {', '.join(FIELDS)}", item)
    size = item["size"]
    if type(size) is not int or size not in SIZES:
        _refuse(f"{place}.size", "10, 20 or 30", size)
    for name in ("x_loc", "y_loc"):
        if type(item[name]) is not int or not 0 <= item[name] <= BOX_SIDE - size:
            _refuse(f"{place}.{name}", f"an integer from 0 to {BOX_SIDE - size} (size {size})", item[name])
    color = _index(item["color"], JSON_COLORS, f"{place}.color")
    return Item(item["x_loc"], item["y_loc"], _index(item["type"], SHAPES, f"{place}.type"), color, size)


def _index(name: Any, names: tuple[str, ...], place: str) -> int:
    if not isinstance(name, str) or name not in names:
        _refuse(place, " or ".join(repr(each) for each in names), name)
    return names.index(name)


def _refuse(place: str, right: str, value: Any) -> NoReturn:
    raise BadRow(f"{place} must be {right}, got {shown(value)}")
