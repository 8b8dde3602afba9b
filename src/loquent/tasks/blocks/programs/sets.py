"""Functions of lists, sets and boxes: counts, properties, equality and the algebra of sets."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations as tuples
from typing import Any

from loquent.tasks.blocks.programs.relations import things
from loquent.tasks.blocks.programs.scene import Color, Constant, Shape, Size, Thing


def count(s: Any) -> int:
    """The number of distinct objects."""
    return len(set(map(id, s)))


def exist(s: Any) -> bool:
    """Whether there is an object."""
    return len(set(map(id, s))) > 0


def unique(s: Any) -> Any:
    """The only element.

    Raises:
        ValueError: there are none or several.
    """
    if len(s) != 1:
        raise ValueError(f"unique needs exactly 1 element, got {len(s)}")
    return next(iter(s))


def query_color(x: Any) -> list[Color]:
    """The colors of a thing or of several, in their order."""
    return [each.color for each in things(x)]


def query_size(x: Any) -> list[Size]:
    """The sizes of a thing or of several, in their order."""
    return [each.size for each in things(x)]


def query_shape(x: Any) -> list[Shape]:
    """The shapes of a thing or of several, in their order."""
    return [each.shape for each in things(x)]


def get_set_colors(s: Any) -> set[Color]:
    """The distinct colors of a thing or of several."""
    return {each.color for each in things(s)}


def get_set_sizes(s: Any) -> set[Size]:
    """The distinct sizes of a thing or of several."""
    return {each.size for each in things(s)}


def get_set_shapes(s: Any) -> set[Shape]:
    """The distinct shapes of a thing or of several."""
    return {each.shape for each in things(s)}


def filter_color(s: Any, color: Any) -> list[Any]:
    """The elements of this color; an element that is a box must have things, all of this color."""
    if type(color) is Color:
        return [x for x in s if (x.color is color if type(x) is Thing else equal(query_color(x), color))]
    return [x for x in s if equal(query_color(x), color)]


def filter_size(s: Any, size: Any) -> list[Any]:
    """The elements of this size."""
    return [x for x in s if equal(query_size(x), size)]


def filter_shape(s: Any, shape: Any) -> list[Any]:
    """The elements of this shape."""
    return [x for x in s if equal(query_shape(x), shape)]


def equal(a: Any, b: Any) -> bool:
    """Whether two values are equal: lists in order, or as sets where one is a list and the other is not.

    Raises:
        TypeError: the types differ, and so do those of the elements.
    """
    if type(a) is type(b):
        return bool(a == b)
    first, second = (each if type(each) is list else [each] for each in (a, b))
    kinds = {type(each) for each in (*first, *second)}
    if len(kinds) > 1:
        raise TypeError(f"equal needs values of one type, got {sorted(kind.__name__ for kind in kinds)}")
    return equal_set(first, second)


def equal_color(a: Any, b: Any) -> bool:
    """`equal` for colors."""
    return _equal_constants(a, b, Color)


def equal_size(a: Any, b: Any) -> bool:
    """`equal` for sizes."""
    return _equal_constants(a, b, Size)


def equal_shape(a: Any, b: Any) -> bool:
    """`equal` for shapes."""
    return _equal_constants(a, b, Shape)


def member_of(x: Any, s: Any) -> bool:
    """Whether x is an element of s."""
    return x in s


def contained(a: Any, b: Any) -> bool:
    """Whether every element of a is one of b."""
    return all(x in b for x in a)


def equal_set(a: Any, b: Any) -> bool:
    """Whether a and b have the same elements."""
    return contained(a, b) and contained(b, a)


def all_same(s: Any) -> bool:
    """Whether s has exactly one distinct element."""
    return len(set(s)) == 1


def all_same_color(s: Any) -> bool:
    """Whether the things have one color."""
    return all_same(query_color(s))


def all_same_size(s: Any) -> bool:
    """Whether the things have one size."""
    return all_same(query_size(s))


def all_same_shape(s: Any) -> bool:
    """Whether the things have one shape."""
    return all_same(query_shape(s))


def union(a: Any, b: Any) -> set[Any]:
    """The elements of either set."""
    return union_all([a, b])


def union_all(sets: Any) -> set[Any]:
    """The elements of any of the sets."""
    found: set[Any] = set()
    for each in sets:
        if type(each) is not set:
            raise TypeError(f"sets are needed, got {type(each).__name__}")
        found |= each
    return found


def intersect(a: Any, b: Any) -> list[Any]:
    """The elements of a that are elements of b, in the order of a."""
    return [x for x in a if x in b]


def intersect_all(sets: Any) -> Any:
    """The elements of the first that are in all; an empty set where there are no sets."""
    if not len(sets):
        return set()
    first, *others = sets
    return [x for x in first if all(x in each for each in others)]


def combinations(s: Any, k: int) -> list[tuple[Any, ...]]:
    """All groups of k elements as tuples, in the order of s."""
    return list(tuples(s, k))


def select(k: int, s: Any) -> list[tuple[Any, ...]]:
    """All groups of k elements; `combinations` with its arguments in the other order."""
    return list(tuples(s, k))


def _equal_constants(a: Any, b: Any, kind: type[Constant]) -> bool:
    for value in (a, b):
        values: Iterable[Any] = (value,) if isinstance(value, Constant) else value
        if not all(isinstance(each, kind) for each in values):
            raise TypeError(f"values of {kind.__name__} are needed")
    return equal(a, b)
