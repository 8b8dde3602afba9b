"""The grammar of statements about scattered items: descriptions of items, and constructions around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import permutations, product

from loquent.tasks.blocks.boards.board import COLORS, SHAPES
from loquent.tasks.blocks.boards.random_edits import PLACES, Subject
from tools.corpora.blocks.words import Statement, color, number

SIZES = ("small", "medium", "big")
SIDES = ("left", "right", "top", "bottom")
ITEMS = "x.all_items_in_box()"
CORNER, INSIDE = PLACES.index("corner"), PLACES.index("inside")


@dataclass(frozen=True)
class Kind:
    """A description of items by size, colour and shape, as a noun and as code about an item."""

    name: str
    noun: str
    conditions: tuple[str, ...]

    @property
    def subject(self) -> Subject:
        """The numbers of the shape, the colour and the size; -1: any."""
        described = zip((SHAPES, COLORS, SIZES), (range(3), range(3), (10, 20, 30)))
        return tuple(
            next((value for name, value in zip(names, values) if name in self.conditions), -1)
            for names, values in described
        )

    def excludes(self, other: Kind) -> bool:
        """Whether no item is of both kinds."""
        return any(-1 not in pair and pair[0] != pair[1] for pair in zip(self.subject, other.subject))

    def plural(self, n: int) -> str:
        """The noun after a number."""
        return number(n, self.noun)

    def code(self, variable: str, *more: str) -> str:
        """The truth value "`variable` is of this kind", and the conditions `more` with {} for it."""
        conditions = (*(f"is_{name}({{}})" for name in self.conditions), *more)
        return " and ".join(each.format(variable) for each in conditions) or "True"

    def of(self, items: str, *more: str) -> str:
        """The code of all items of this kind among `items`."""
        code = self.code("y", *more)
        return items if code == "True" else f"filter_obj({items}, lambda y: {code})"


@dataclass(frozen=True)
class Place:
    """Where an item is: words that follow the noun, and code with {} for the item.

    Attributes:
        index: the place among PLACES; -1: no such place.
        medium_only: only items of 20 pixels reach the place from a cell of the grid.
    """

    name: str
    texts: tuple[str, ...]
    code: str
    index: int = -1
    medium_only: bool = False


@lru_cache(maxsize=1)
def kinds() -> tuple[Kind, ...]:
    """All descriptions of items: with and without a size, a colour and a shape."""
    described = []
    for size, name, shape in product(("", *SIZES), ("", *COLORS), ("", *SHAPES)):
        conditions = tuple(each for each in (size, name, shape) if each)
        parts = ((size, "size"), (name, "color"), (shape, "shape"))
        kind = "_".join(part for each, part in parts if each) or "item"
        described.append(Kind(kind, " ".join((*filter(None, (size, name)), shape or "item")), conditions))
    return tuple(described)


@lru_cache(maxsize=1)
def simple() -> tuple[Kind, ...]:
    """The descriptions with at most two conditions, without the bare "item"."""
    return tuple(kind for kind in kinds() if 1 <= len(kind.conditions) <= 2)


@lru_cache(maxsize=1)
def places() -> tuple[Place, ...]:
    """Walls and corners, touched or almost."""
    walls = [
        Place(
            f"{closely}wall_side",
            (f"{words} the {side} wall of a box",),
            f"is_{closely}touching_wall({{}}, Side.{side.upper()})",
            PLACES.index(side),
            side in ("right", "bottom"),
        )
        for (closely, words), side in product((("", "touching"), ("closely_", "closely touching")), SIDES)
    ]
    return (
        *walls,
        Place("wall", ("touching a wall", "touching the edge of a box"), "is_touching_wall({})"),
        Place(
            "no_wall",
            ("not touching any wall", "touching no wall"),
            "not is_touching_wall({}, Side.ANY)",
            INSIDE,
        ),
        Place("corner", ("touching a corner", "in a corner of a box"), "is_touching_corner({})", CORNER),
        Place("closely_corner", ("closely touching a corner",), "is_closely_touching_corner({})", CORNER),
    )


def statements() -> Iterator[Statement]:
    """All statements of the grammar; some programs occur more than once."""
    for kind in kinds():
        yield from _about(_numbers(kind), kind)
        for place in places():
            if not (place.medium_only and {"small", "big"} & set(kind.conditions)):
                yield from _about(_placed(kind, place), kind, place=place.index)
    for kind in simple():
        yield from _about(_boxes(kind), kind)
    for one, other in permutations(simple(), 2):
        if not set(one.conditions) & set(other.conditions):
            yield from _about(_two_kinds(one, other), one, other)
    yield from _contents()


def _about(statements: Iterator[Statement], *kinds: Kind, place: int = -1) -> Iterator[Statement]:
    for statement in statements:
        yield replace(statement, about=tuple((*kind.subject, place) for kind in kinds))


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def _numbers(kind: Kind) -> Iterator[Statement]:
    """How many items of a kind there are in all."""
    found = f"count({kind.of('all_items')})"
    yield Statement(
        f"exists:{kind.name}",
        (f"There is a {kind.noun}.", f"There is at least one {kind.noun}."),
        f"exist({kind.of('all_items')})",
    )
    yield Statement(
        f"none:{kind.name}", (f"There is no {kind.noun}.",), f"NOT(exist({kind.of('all_items')}))"
    )
    for n in range(1, 7):
        exactly = (f"There {_are(n)} exactly {kind.plural(n)}.",)
        yield Statement(f"exactly:{kind.name}", exactly, f"{found} == {n}")
        if 2 <= n <= 4:
            yield Statement(
                f"least:{kind.name}", (f"There are at least {kind.plural(n)}.",), f"ge({found}, {n})"
            )


def _placed(kind: Kind, place: Place) -> Iterator[Statement]:
    """Items of a kind at walls and in corners."""
    there = kind.of("all_items", place.code)
    name = f"{kind.name}@{place.name}"
    yield Statement(
        f"exists:{name}", tuple(f"There is a {kind.noun} {text}." for text in place.texts), f"exist({there})"
    )
    yield Statement(
        f"none:{name}",
        tuple(f"There is no {kind.noun} {text}." for text in place.texts),
        f"NOT(exist({there}))",
    )
    for n in (1, 2, 3):
        yield Statement(
            f"exactly:{name}",
            tuple(f"There {_are(n)} exactly {kind.plural(n)} {text}." for text in place.texts),
            f"count({there}) == {n}",
        )
    for n in (1, 2):
        them = "it is" if n == 1 else "all of them are"
        yield Statement(
            f"all:{name}",
            tuple(f"There {_are(n)} exactly {kind.plural(n)}, and {them} {text}." for text in place.texts),
            f"count({kind.of('all_items')}) == {n} and count({there}) == {n}",
        )
    if kind.conditions:
        inside = kind.code("x")
        yield Statement(
            f"only:{name}",
            tuple(
                f"There is at least one item {text}, and every item {text} is a {kind.noun}."
                for text in place.texts
            ),
            f"All(filter_obj(all_items, lambda x: {place.code.format('x')}), lambda x: {inside})",
        )


def _boxes(kind: Kind) -> Iterator[Statement]:
    """Boxes with a number of items of a kind."""
    inside = f"count({kind.of(ITEMS)})"
    for n in (1, 2, 3):
        having = f"filter_obj(all_boxes, lambda x: {inside} == {n})"
        for boxes in (1, 2, 3):
            if boxes * n <= 6:
                yield Statement(
                    f"boxes:{kind.name}",
                    (f"There {_are(boxes)} exactly {number(boxes, 'box')} with exactly {kind.plural(n)}.",),
                    f"count({having}) == {boxes}",
                )
    holding = f"filter_obj(all_boxes, lambda x: exist({kind.of(ITEMS)}))"
    for boxes in (1, 2, 3):
        yield Statement(
            f"boxes_with:{kind.name}",
            (f"There {_are(boxes)} exactly {number(boxes, 'box')} with at least one {kind.noun}.",),
            f"count({holding}) == {boxes}",
        )
    yield Statement(
        f"box_of:{kind.name}",
        (f"There is a box with at least two items, and all items of this box are {kind.noun}s.",),
        f"exist(filter_obj(all_boxes, lambda x: ge(count({ITEMS}), 2) and "
        f"All({ITEMS}, lambda y: {kind.code('y')})))",
    )


def _two_kinds(one: Kind, other: Kind) -> Iterator[Statement]:
    """Comparisons, relations in space, and conjunctions of two kinds."""
    names = f"{one.name}+{other.name}"
    first, second = f"count({one.of('all_items')})", f"count({other.of('all_items')})"
    for n in (1, 2):
        yield Statement(
            f"and_no:{names}",
            (f"There {_are(n)} exactly {one.plural(n)} and no {other.noun}.",),
            f"{first} == {n} and {second} == 0",
        )
    yield Statement(
        f"and:{names}",
        (f"There are exactly two {one.noun}s and exactly one {other.noun}.",),
        f"{first} == 2 and {second} == 1",
    )
    if "item" in one.noun and "item" in other.noun and one.conditions[0] < other.conditions[0]:
        more = (f"There are more {one.noun}s than {other.noun}s, and exactly one {other.noun}.",)
        yield Statement(f"more:{names}", more, f"gt({first}, {second}) and {second} == 1")
    if one.excludes(other):  # else one item could be both
        inside = f"exist({one.of(ITEMS)}) and exist({other.of(ITEMS)})"
        yield Statement(
            f"same_box:{names}",
            (f"There is exactly one box with both a {one.noun} and a {other.noun}.",),
            f"count(filter_obj(all_boxes, lambda x: {inside})) == 1",
        )
    yield Statement(
        f"box_without:{names}",
        (f"There is a box with a {one.noun} and without any {other.noun}.",),
        f"exist(filter_obj(all_boxes, lambda x: exist({one.of(ITEMS)}) and NOT(exist({other.of(ITEMS)}))))",
    )
    for name, words, relation in (
        ("touching", "touching", "get_touching"),
        ("above", "somewhere above", "get_box_all_above"),
        ("below", "somewhere below", "get_box_all_below"),
    ):
        if name != "touching" and len(one.conditions) + len(other.conditions) > 3:
            continue
        # the relation gives the items above x, so "one above other" looks from the other item
        near = f"exist(filter_obj({relation}(x), lambda y: {one.code('y')}))"
        where = "" if name == "touching" else " in the same box"
        yield Statement(
            f"{name}:{names}",
            (f"There is a {one.noun} {words} a {other.noun}{where}.",),
            f"exist(filter_obj(all_items, lambda x: {other.code('x')} and {near}))",
        )


def _contents() -> Iterator[Statement]:
    """How many items, colours and shapes a box holds."""
    for n in range(1, 7):
        for boxes in (1, 2, 3):
            if boxes * n <= 9:
                yield Statement(
                    "box_size",
                    (
                        f"There {_are(boxes)} exactly {number(boxes, 'box')} with "
                        f"exactly {number(n, 'item')}.",
                    ),
                    f"count(filter_obj(all_boxes, lambda x: count({ITEMS}) == {n})) == {boxes}",
                )
    for (what, function), n, boxes in product(
        (("color", "get_set_colors"), ("shape", "get_set_shapes")), (1, 2, 3), (1, 2, 3)
    ):
        yield Statement(
            f"box_{what}s",
            (
                f"There {_are(boxes)} exactly {number(boxes, 'box')} with items of "
                f"exactly {number(n, f'{what}')}.",
            ),
            f"count(filter_obj(all_boxes, lambda x: count({function}({ITEMS})) == {n})) == {boxes}",
        )
    for c, name in enumerate(COLORS):
        for shape, boxes in product(SHAPES, (1, 2)):
            code = f"exist(filter_color({ITEMS}, {color(c)})) and All({ITEMS}, is_{shape})"
            yield Statement(
                "box_all",
                (
                    f"There {_are(boxes)} exactly {number(boxes, 'box')} with at least "
                    f"one {name} item and with only {shape}s.",
                ),
                f"count(filter_obj(all_boxes, lambda x: {code})) == {boxes}",
            )
