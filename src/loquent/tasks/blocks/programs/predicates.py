"""Functions of one thing, or of a pair: properties, position in the box, walls and corners."""

from __future__ import annotations

from collections.abc import Callable

from loquent.tasks.blocks.boards.board import BOX_SIDE
from loquent.tasks.blocks.programs.scene import COLORS, SHAPES, Color, Shape, Side, Size, Thing

CLOSE = 4  # pixels, of "closely touching"
SECOND, THIRD = 21, 42  # the bottom edges of the second and third block of a tower


def _of_color(color: Color) -> Callable[[Thing], bool]:
    return lambda x: x.color is color


def _of_shape(shape: Shape) -> Callable[[Thing], bool]:
    return lambda x: x.shape is shape


def _of_size(size: Size) -> Callable[[Thing], bool]:
    return lambda x: x.size is size


is_yellow, is_black, is_blue = map(_of_color, COLORS)
is_circle, is_square, is_triangle = map(_of_shape, SHAPES)
is_small, is_medium, is_big = map(_of_size, Size)


def is_top(x: Thing) -> bool:
    """Whether no thing of its box has a higher top edge."""
    return x.top == x.box.highest


def is_bottom(x: Thing) -> bool:
    """Whether no thing of its box has a lower *top* edge, which is how lilGym defines it."""
    return x.top == x.box.lowest


def is_second(x: Thing) -> bool:
    """Whether the thing is the second from the floor in a tower."""
    return x.box.tower and x.bottom == SECOND


def is_third(x: Thing) -> bool:
    """Whether the thing is the third from the floor in a tower."""
    return x.box.tower and x.bottom == THIRD


def is_touching_wall(x: Thing, side: Side | None = None) -> bool | None:
    """Whether the thing touches a side of its box, any side by default; None for a value that is no side."""
    return _touching(x, side, 0)


def is_closely_touching_wall(x: Thing, side: Side | None = None) -> bool | None:
    """The same with a distance of up to 4 pixels."""
    return _touching(x, side, CLOSE)


def is_touching_corner(x: Thing, side: Side | None = None) -> bool | None:
    """Whether the thing touches exactly two sides of its box, and `side` as `is_touching_wall` reads it."""
    return _corner(x, 0) and _touching(x, side, 0)


def is_closely_touching_corner(x: Thing, side: Side | None = None) -> bool | None:
    """The same with a distance of up to 4 pixels."""
    return _corner(x, CLOSE) and _touching(x, side, CLOSE)


def is_closely_touching_specific_corner(x: Thing, first: Side, second: Side) -> bool | None:
    """Whether the thing is within 4 pixels of exactly two sides, and of the two named ones."""
    return _corner(x, CLOSE) and _touching(x, first, CLOSE) and _touching(x, second, CLOSE)


def is_closely_touching(x: Thing, y: Thing) -> bool:
    """Whether opposite edges of two things differ by at most 4 pixels, wherever the things are.

    lilGym compares neither the boxes nor the other axis.
    """
    return (
        abs(x.top - y.bottom) <= CLOSE
        or abs(x.left - y.right) <= CLOSE
        or abs(y.top - x.bottom) <= CLOSE
        or abs(y.left - x.right) <= CLOSE
    )


def _touching(x: Thing, side: Side | None, margin: int) -> bool | None:
    if side is None or side is Side.ANY:
        return any(_walls(x, margin))
    if not isinstance(side, Side):
        return None
    return _walls(x, margin)[side.value]


def _corner(x: Thing, margin: int) -> bool:
    return sum(_walls(x, margin)) == 2


def _walls(x: Thing, margin: int) -> tuple[bool, bool, bool, bool]:
    """Whether the thing is within the margin of each side, in the order of `Side`."""
    far = BOX_SIDE - margin
    return x.right >= far, x.left <= margin, x.top >= far, x.bottom <= margin
