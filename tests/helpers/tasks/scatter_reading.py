"""A second reading of the built-in sentences about scattered items, which looks at no program.

An item is the number of its box, its edges with y counted downwards from the ceiling of the box, and its
size, color and shape in words. A sentence becomes a function of a list of items.
"""

import re
from dataclasses import dataclass

NUMBERS = {"one": 1, "two": 2, "three": 3} | {str(n): n for n in range(1, 10)}
SIZES = {10: "small", 20: "medium", 30: "big"}
COLORS = ("yellow", "black", "blue")
SHAPES = ("circle", "square", "triangle")
SIDE = 100
N = "(one|two|three|[1-9])"
KIND = "((?:(?:small|medium|big) )?(?:(?:yellow|black|blue) )?(?:item|circle|square|triangle))"
PLACE = (
    "((?:closely )?touching the (?:left|right|top|bottom) wall of a box|touching a wall|"
    "touching the edge of a box|not touching any wall|touching no wall|(?:closely )?touching a corner|"
    "in a corner of a box)"
)
IS = "There (?:is|are)"


@dataclass(frozen=True)
class Shown:
    box: int
    left: int
    right: int
    up: int
    down: int
    words: frozenset

    @property
    def rooms(self):
        """The free pixels between the item and the four walls."""
        return {"left": self.left, "right": SIDE - self.right, "top": self.up, "bottom": SIDE - self.down}


def shown(board):
    """The items of a board of the task."""
    return [
        Shown(box, x, x + size, y, y + size, frozenset({"item", SIZES[size], COLORS[color], SHAPES[shape]}))
        for box, items in enumerate(board)
        for x, y, shape, color, size in items
    ]


def is_of(kind):
    wanted = set(kind.split())
    return lambda item: wanted <= item.words


def is_at(place):
    """The condition on an item that words such as "touching a wall" mean."""
    most = 4 if place.startswith("closely") else 0

    def touched(item):
        return [side for side, room in item.rooms.items() if room <= most]

    if "corner" in place:
        return lambda item: len(touched(item)) == 2
    if place in ("touching a wall", "touching the edge of a box"):
        return lambda item: bool(touched(item))
    if place in ("not touching any wall", "touching no wall"):
        return lambda item: not touched(item)
    side = re.search("the (left|right|top|bottom) wall", place)[1]
    return lambda item: side in touched(item)


def near(one, other):
    """Whether two items of a box have at most a pixel between them."""
    across = max(one.left, other.left) - min(one.right, other.right)
    along = max(one.up, other.up) - min(one.down, other.down)
    return one is not other and one.box == other.box and max(across, along) <= 1


def above(one, other):
    return one is not other and one.box == other.box and one.down <= other.up


def boxes(items):
    return [[item for item in items if item.box == box] for box in range(3)]


def among(items, *conditions):
    return [item for item in items if all(condition(item) for condition in conditions)]


def boxes_where(holds):
    """The function of a number that makes a function of items: exactly so many boxes for which this holds."""
    return lambda n: lambda items: sum(bool(holds(box)) for box in boxes(items)) == NUMBERS[n]


def exactly(n, *conditions):
    return lambda items: len(among(items, *conditions)) == NUMBERS[n]


def both(*functions):
    return lambda items: all(function(items) for function in functions)


def related(one, other, relation):
    return lambda items: any(
        relation(a, b) for a in among(items, is_of(one)) for b in among(items, is_of(other))
    )


SENTENCES = [
    (f"There is (?:a|at least one) {KIND}", lambda k: lambda items: bool(among(items, is_of(k)))),
    (f"There is no {KIND}", lambda k: lambda items: not among(items, is_of(k))),
    (f"{IS} exactly {N} {KIND}s?", lambda n, k: exactly(n, is_of(k))),
    (f"There are at least {N} {KIND}s", lambda n, k: lambda items: len(among(items, is_of(k))) >= NUMBERS[n]),
    (f"There is a {KIND} {PLACE}", lambda k, p: lambda items: bool(among(items, is_of(k), is_at(p)))),
    (f"There is no {KIND} {PLACE}", lambda k, p: lambda items: not among(items, is_of(k), is_at(p))),
    (f"{IS} exactly {N} {KIND}s? {PLACE}", lambda n, k, p: exactly(n, is_of(k), is_at(p))),
    (
        f"{IS} exactly {N} {KIND}s?, and (?:it is|all of them are) {PLACE}",
        lambda n, k, p: both(exactly(n, is_of(k)), exactly(n, is_of(k), is_at(p))),
    ),
    (
        f"There is at least one item {PLACE}, and every item {PLACE} is a {KIND}",
        lambda p, q, k: (
            lambda items: bool(among(items, is_at(p))) and all(map(is_of(k), among(items, is_at(q))))
        ),
    ),
    (
        f"{IS} exactly {N} box(?:es)? with exactly {N} {KIND}s?",
        lambda b, n, k: boxes_where(exactly(n, is_of(k)))(b),
    ),
    (
        f"{IS} exactly {N} box(?:es)? with at least one {KIND}",
        lambda b, k: boxes_where(lambda box: among(box, is_of(k)))(b),
    ),
    (
        f"There is a box with at least two items, and all items of this box are {KIND}s",
        lambda k: lambda items: any(len(box) >= 2 and all(map(is_of(k), box)) for box in boxes(items)),
    ),
    (
        f"{IS} exactly {N} {KIND}s? and no {KIND}",
        lambda n, k, other: both(exactly(n, is_of(k)), lambda items: not among(items, is_of(other))),
    ),
    (
        f"There are exactly {N} {KIND}s and exactly {N} {KIND}",
        lambda n, k, m, other: both(exactly(n, is_of(k)), exactly(m, is_of(other))),
    ),
    (
        f"There are more {KIND}s than {KIND}s, and exactly {N} {KIND}",
        lambda k, other, n, third: both(
            lambda items: len(among(items, is_of(k))) > len(among(items, is_of(other))),
            exactly(n, is_of(third)),
        ),
    ),
    (
        f"{IS} exactly {N} box with both a {KIND} and a {KIND}",
        lambda b, k, other: boxes_where(lambda box: among(box, is_of(k)) and among(box, is_of(other)))(b),
    ),
    (
        f"There is a box with a {KIND} and without any {KIND}",
        lambda k, other: (
            lambda items: any(among(box, is_of(k)) and not among(box, is_of(other)) for box in boxes(items))
        ),
    ),
    (f"There is a {KIND} touching a {KIND}", lambda k, other: related(k, other, near)),
    (f"There is a {KIND} somewhere above a {KIND} in the same box", lambda k, o: related(k, o, above)),
    (
        f"There is a {KIND} somewhere below a {KIND} in the same box",
        lambda k, other: related(other, k, above),
    ),
    (
        f"{IS} exactly {N} box(?:es)? with items of exactly {N} (color|shape)s?",
        lambda b, n, what: boxes_where(
            lambda box: len({word for i in box for word in i.words & words(what)}) == NUMBERS[n]
        )(b),
    ),
    (
        f"{IS} exactly {N} box(?:es)? with at least one (yellow|black|blue) item "
        "and with only (circle|square|triangle)s",
        lambda b, color, shape: boxes_where(
            lambda box: among(box, is_of(color)) and all(map(is_of(shape), box))
        )(b),
    ),
]


def words(what):
    return set(COLORS if what == "color" else SHAPES)


def read(sentence):
    """The function of a list of items that a sentence means."""
    for pattern, meaning in SENTENCES:
        if match := re.fullmatch(pattern, sentence.removesuffix(".")):
            return meaning(*match.groups())
    raise ValueError(f"no reading of {sentence!r}")
