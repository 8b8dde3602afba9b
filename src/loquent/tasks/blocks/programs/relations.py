"""Functions from things to the related things of the same box: above, below, touching."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from loquent.tasks.blocks.programs.predicates import CLOSE
from loquent.tasks.blocks.programs.scene import Thing

TOUCHING = 1  # pixels: the gap between the blocks of a tower


def things(value: Any) -> Iterable[Thing]:
    """The things of an argument that is one thing or several.

    Raises:
        TypeError: the value is something else.
    """
    if type(value) is Thing:
        return (value,)
    for each in value:
        if type(each) is not Thing:
            raise TypeError(f"items are needed, got {type(each).__name__}")
    checked: Iterable[Thing] = value
    return checked


def get_above(s: Any) -> set[Thing]:
    """The things above any of these things; in a tower only the next block."""
    return _related(s, "above", _above)


def get_below(s: Any) -> set[Thing]:
    """The things below any of these things; in a tower only the next block."""
    return _related(s, "below", lambda item, x: _above(x, item))


def get_box_all_above(s: Any) -> set[Thing]:
    """The things whose bottom edge is at least as high as the top edge of any of these things."""
    return _related(s, "all_above", _over)


def get_box_all_below(s: Any) -> set[Thing]:
    """The things whose top edge is at most as high as the bottom edge of any of these things."""
    return _related(s, "all_below", lambda item, x: _over(x, item))


def get_touching(s: Any) -> set[Thing]:
    """The things within 1 pixel of any of these things."""
    return _related(s, "touching", lambda item, x: _gap(item, x) <= TOUCHING)


def get_closely_touching(s: Any) -> set[Thing]:
    """The things within 4 pixels of any of these things."""
    return _related(s, "close", lambda item, x: _gap(item, x) <= CLOSE)


def get_box_inclusive(item: Thing) -> list[Thing]:
    """The things of the thing's box."""
    return item.box.things


def get_box_exclusive(item: Thing) -> list[Thing]:
    """The other things of the thing's box."""
    return [x for x in item.box.things if x is not item]


def _related(s: Any, name: str, holds: Callable[[Thing, Thing], bool]) -> set[Thing]:
    """The union of the related things of each thing; the set of one thing is kept, and nobody changes it."""
    found: set[Thing] = set()
    for item in things(s):
        if name not in item.related:
            item.related[name] = {x for x in item.box if x is not item and holds(item, x)}
        if type(s) is Thing:
            return item.related[name]
        found |= item.related[name]
    return found


def _over(item: Thing, x: Thing) -> bool:
    return item.top <= x.bottom


def _above(item: Thing, x: Thing) -> bool:
    """Whether x is above the item."""
    return item.top <= x.bottom and (not item.box.tower or _gap(item, x) <= TOUCHING)


def _gap(a: Thing, b: Thing) -> int:
    """The distance of two bounding boxes along the axis where it is larger; negative where they overlap."""
    return max(a.left - b.right, b.left - a.right, a.bottom - b.top, b.bottom - a.top)
