"""A second reading of the built-in sentences about towers, which looks at no program.

A tower is an index into STACKS; a board is three of them. A sentence becomes a function of three arrays of
indices, so it is read on very many boards at once.
"""

import re
from itertools import product

import numpy as np

COLORS = ("yellow", "black", "blue")
STACKS = [stack for height in range(5) for stack in product(COLORS, repeat=height)]
HEIGHTS = np.array([len(stack) for stack in STACKS])
NUMBERS = {"one": 1, "two": 2, "a": 1, "1": 1, "2": 2, "3": 3} | {str(n): n for n in range(4, 10)}
SAME_ENDS = "a top and a base of the same color"
N = "(one|two|[1-9])"
C = "(yellow|black|blue)"


def of_stack(words):
    """The function of a stack that a property such as "no blue block" means."""
    rules = [
        (f"exactly {N} blocks?", lambda n: lambda s: len(s) == NUMBERS[n]),
        (f"at least {N} blocks?", lambda n: lambda s: len(s) >= NUMBERS[n]),
        (f"at most {N} blocks?", lambda n: lambda s: 0 < len(s) <= NUMBERS[n]),
        (f"a {C} block (?:at the base|at the bottom)", lambda c: lambda s: s[:1] == (c,)),
        (f"a {C} block (?:at the top|on top)", lambda c: lambda s: s[-1:] == (c,)),
        (
            f"a {C} block (?:in the second position|second) from the bottom",
            lambda c: lambda s: s[1:2] == (c,),
        ),
        (SAME_ENDS, lambda: lambda s: bool(s) and s[0] == s[-1]),
        (f"exactly {N} {C} blocks?", lambda n, c: lambda s: s.count(c) == NUMBERS[n]),
        (f"at least {N} {C} blocks?", lambda n, c: lambda s: s.count(c) >= NUMBERS[n]),
        (f"no {C} blocks?", lambda c: lambda s: c not in s),
        (f"only {C} blocks", lambda c: lambda s: set(s) == {c}),
        (
            "blocks of exactly (one color|two colors|three colors)",
            lambda n: lambda s: len(set(s)) == {"one": 1, "two": 2, "three": 3}[n.split()[0]],
        ),
        (
            f"a {C} block (?:directly above|right on) a {C} block",
            lambda c, d: lambda s: any(s[i + 1] == c and s[i] == d for i in range(len(s) - 1)),
        ),
    ]
    for pattern, meaning in rules:
        if match := re.fullmatch(pattern, words):
            return meaning(*match.groups())
    raise ValueError(f"no reading of {words!r}")


def towers(words):
    """bool[121]: the towers that have all properties of a phrase; never the empty box."""
    parts = words.replace(SAME_ENDS, "SAME").split(" and ")
    meanings = [of_stack(part.replace("SAME", SAME_ENDS)) for part in parts]
    return np.array([bool(stack) and all(meaning(stack) for meaning in meanings) for stack in STACKS])


def amounts(of_stack):
    return np.array([of_stack(stack) for stack in STACKS])


def total(table, boxes):
    return sum(table[box].astype(int) for box in boxes)


def ends(color, place):
    return amounts(lambda s: bool(s) and s[0 if place == "base" else -1] == color)


def colored(color):
    return amounts(lambda s: s.count(color))


ANY = HEIGHTS > 0
SENTENCES = [
    (
        "There is (?:a|at least one) tower with (.+), and there is no tower with (.+)",
        lambda p, q: lambda b: (total(towers(p), b) > 0) & (total(towers(q), b) == 0),
    ),
    (
        f"There (?:is|are) exactly {N} towers?, and (?:it has|both have|all of them have) (.+)",
        lambda n, p: lambda b: (total(ANY, b) == NUMBERS[n]) & (total(towers(p), b) == NUMBERS[n]),
    ),
    (
        f"There are exactly {N} towers, and they have the same number of blocks",
        lambda n: lambda b: (total(ANY, b) == NUMBERS[n]) & level(b),
    ),
    (
        f"There are exactly {N} towers, they have the same number of blocks, "
        f"and no {C} block is at the top of a tower",
        lambda n, c: lambda b: (total(ANY, b) == NUMBERS[n]) & level(b) & (total(ends(c, "top"), b) == 0),
    ),
    (
        f"There (?:is|are) exactly {N} towers? and exactly {N} blocks? in total",
        lambda n, m: lambda b: (total(ANY, b) == NUMBERS[n]) & (total(HEIGHTS, b) == NUMBERS[m]),
    ),
    (f"There (?:is|are) exactly {N} towers?", lambda n: lambda b: total(ANY, b) == NUMBERS[n]),
    ("(?:There is no tower with|No tower has) (.+)", lambda p: lambda b: total(towers(p), b) == 0),
    ("There is (?:a|at least one) tower with (.+)", lambda p: lambda b: total(towers(p), b) > 0),
    (
        f"There (?:is|are) exactly {N} towers? with (.+)",
        lambda n, p: lambda b: total(towers(p), b) == NUMBERS[n],
    ),
    (f"There are at least {N} towers with (.+)", lambda n, p: lambda b: total(towers(p), b) >= NUMBERS[n]),
    (f"There (?:is|are) exactly {N} blocks? in total", lambda n: lambda b: total(HEIGHTS, b) == NUMBERS[n]),
    (
        f"There (?:is|are) exactly {N} blocks?, and (?:it is|all of them are) {C}",
        lambda n, c: lambda b: (total(HEIGHTS, b) == NUMBERS[n]) & (total(colored(c), b) == NUMBERS[n]),
    ),
    (f"There (?:is|are) exactly {N} {C} blocks?", lambda n, c: lambda b: total(colored(c), b) == NUMBERS[n]),
    (
        f"There (?:is|are) exactly {N} {C} blocks? and no {C} block",
        lambda n, c, d: lambda b: (total(colored(c), b) == NUMBERS[n]) & (total(colored(d), b) == 0),
    ),
    (
        f"There (?:is|are) exactly {N} {C} blocks? and exactly {N} {C} blocks?",
        lambda n, c, m, d: (
            lambda b: (total(colored(c), b) == NUMBERS[n]) & (total(colored(d), b) == NUMBERS[m])
        ),
    ),
    (
        f"There (?:is|are) exactly {N} more {C} blocks? than {C} blocks",
        lambda n, c, d: lambda b: total(colored(c), b) - total(colored(d), b) == NUMBERS[n],
    ),
    (
        f"There are more {C} blocks than {C} blocks, and exactly {N} {C} blocks?",
        lambda c, d, n, e: (
            lambda b: (total(colored(c), b) > total(colored(d), b)) & (total(colored(e), b) == NUMBERS[n])
        ),
    ),
    (
        f"Exactly {N} {C} blocks? (?:is|are) at the (base|top) of a tower",
        lambda n, c, place: lambda b: total(ends(c, place), b) == NUMBERS[n],
    ),
    (
        f"Exactly {N} {C} blocks? (?:is|are) at the (base|top) of a tower, "
        f"and no {C} block is at the (base|top) of a tower",
        lambda n, c, place, d, other: (
            lambda b: (total(ends(c, place), b) == NUMBERS[n]) & (total(ends(d, other), b) == 0)
        ),
    ),
]


def level(boxes):
    """Whether all boxes that hold a tower hold equally high ones."""
    heights = np.stack([HEIGHTS[box] for box in boxes])
    return heights.max(0) == np.where(heights == 0, 9, heights).min(0)


def read(sentence):
    """The function of three arrays of stacks that a sentence means."""
    for pattern, meaning in SENTENCES:
        if match := re.fullmatch(pattern, sentence.removesuffix(".")):
            try:
                return meaning(*match.groups())
            except ValueError:
                continue
    raise ValueError(f"no reading of {sentence!r}")
