"""The grammar of statements about towers: properties of a tower, and constructions around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise, permutations, product

from loquent.tasks.blocks.boards.board import COLORS
from tools.corpora.blocks.words import Phrase, Statement, amount, both, color, joined, number

TOWERS = "filter_obj(all_boxes, lambda x: x.is_tower())"
BLOCKS = "x.all_items_in_box()"
HIGHEST = 4
MOST_BLOCKS = 4  # that a statement about towers needs; an episode has room for ten additions

Stack = tuple[int, ...]  # the colours of a tower's blocks from the bottom to the top
STACKS: tuple[Stack, ...] = tuple(
    stack for height in range(1, HIGHEST + 1) for stack in product(range(len(COLORS)), repeat=height)
)


@dataclass(frozen=True)
class Property:
    """A property of a tower, with the stacks that have it."""

    phrase: Phrase
    stacks: frozenset[Stack]

    @property
    def smallest(self) -> int:
        """The smallest number of blocks of a tower with the property."""
        return min(map(len, self.stacks))


@lru_cache(maxsize=1)
def properties() -> tuple[Property, ...]:
    """All properties of one kind each."""
    return tuple(
        Property(phrase, frozenset(stacks)) for phrase, stacks in (*_heights(), *_ends(), *_contents())
    )


@lru_cache(maxsize=1)
def pairs() -> tuple[tuple[Property, ...], ...]:
    """All pairs of properties of different kinds, of which neither contains or excludes the other."""
    pairs = combinations(properties(), 2)
    return tuple(
        (one, other)
        for one, other in pairs
        if (one.phrase.kind != other.phrase.kind or one.phrase.kind == "holds")
        and one.stacks & other.stacks not in (frozenset(), one.stacks, other.stacks)
    )


def _heights() -> Iterator[tuple[Phrase, list[Stack]]]:
    for n in range(1, HIGHEST + 1):
        yield (
            Phrase("height", (f"exactly {number(n, 'block')}",), f"count({BLOCKS}) == {n}"),
            [stack for stack in STACKS if len(stack) == n],
        )
    for n in (2, 3):
        yield (
            Phrase("height_least", (f"at least {number(n, 'block')}",), f"ge(count({BLOCKS}), {n})"),
            [stack for stack in STACKS if len(stack) >= n],
        )
    for n in (2, 3):
        yield (
            Phrase("height_most", (f"at most {number(n, 'block')}",), f"le(count({BLOCKS}), {n})"),
            [stack for stack in STACKS if len(stack) <= n],
        )


def _ends() -> Iterator[tuple[Phrase, list[Stack]]]:
    for c, name in enumerate(COLORS):
        for kind, level, words, is_there in (
            ("base", 0, ("at the base", "at the bottom"), "is_bottom"),
            ("top", -1, ("at the top", "on top"), "is_top"),
            ("second", 1, ("in the second position from the bottom", "second from the bottom"), "is_second"),
        ):
            yield (
                Phrase(
                    kind,
                    tuple(f"a {name} block {place}" for place in words),
                    f"exist(filter_obj({BLOCKS}, lambda y: is_{name}(y) and {is_there}(y)))",
                ),
                [stack for stack in STACKS if level < len(stack) and stack[level] == c],
            )
    yield (
        Phrase(
            "same_ends",
            ("a top and a base of the same color",),
            f"equal_color(query_color(filter_obj({BLOCKS}, is_top)), query_color(filter_obj({BLOCKS}, "
            "is_bottom)))",
        ),
        [stack for stack in STACKS if stack[0] == stack[-1]],
    )


def _contents() -> Iterator[tuple[Phrase, list[Stack]]]:
    for c, name in enumerate(COLORS):
        of_color = f"count(filter_color({BLOCKS}, {color(c)}))"
        for n in (1, 2, 3):
            yield (
                Phrase("holds", (f"exactly {number(n, f'{name} block')}",), f"{of_color} == {n}"),
                [stack for stack in STACKS if stack.count(c) == n],
            )
        yield (
            Phrase("holds_least", (f"at least {number(2, f'{name} block')}",), f"ge({of_color}, 2)"),
            [stack for stack in STACKS if stack.count(c) >= 2],
        )
        yield (
            Phrase("lacks", (f"no {name} block", f"no {name} blocks"), f"{of_color} == 0"),
            [stack for stack in STACKS if c not in stack],
        )
        yield (
            Phrase("only", (f"only {name} blocks",), f"All({BLOCKS}, is_{name})"),
            [stack for stack in STACKS if set(stack) == {c}],
        )
    for n, words in ((1, "one color"), (2, "two colors"), (3, "three colors")):
        yield (
            Phrase("colors", (f"blocks of exactly {words}",), f"count(get_set_colors({BLOCKS})) == {n}"),
            [stack for stack in STACKS if len(set(stack)) == n],
        )
    for c, d in permutations(range(len(COLORS)), 2):
        upper, lower = COLORS[c], COLORS[d]
        yield (
            Phrase(
                "over",
                (
                    f"a {upper} block directly above a {lower} block",
                    f"a {upper} block right on a {lower} block",
                ),
                f"exist(filter_obj({BLOCKS}, lambda y: is_{upper}(y) and "
                f"exist(filter_obj(get_below(y), is_{lower}))))",
            ),
            [stack for stack in STACKS if (d, c) in pairwise(stack)],
        )


def statements() -> Iterator[Statement]:
    """All statements of the grammar; some programs occur more than once."""
    groups = [(each,) for each in properties()] + list(pairs())
    for group in groups:
        yield from _about_towers(group)
    yield from _about_blocks()
    yield from _about_counts_of_towers()
    yield from _two_sentences()


def _about_towers(group: tuple[Property, ...]) -> Iterator[Statement]:
    """Constructions around "a tower with PROPERTIES"."""
    kinds = "+".join(each.phrase.kind for each in group)
    texts, code = joined([each.phrase.texts for each in group]), both([each.phrase.code for each in group])
    about = tuple(sorted(frozenset.intersection(*(each.stacks for each in group))))
    smallest = min(map(len, about))
    having = f"filter_obj(all_boxes, lambda x: x.is_tower() and {code})"

    def made(frame: str, openings: tuple[str, ...], program: str) -> Statement:
        sentences = tuple(opening.format(text) for opening in openings for text in texts)
        return Statement(f"{frame}:{kinds}", sentences, program, about)

    yield made(
        "exists", ("There is a tower with {}.", "There is at least one tower with {}."), f"exist({having})"
    )
    yield made("none", ("There is no tower with {}.", "No tower has {}."), f"NOT(exist({having}))")
    for n in (1, 2, 3):
        if n * smallest > MOST_BLOCKS:
            continue
        are = f"{'is' if n == 1 else 'are'} exactly {number(n, 'tower')}"
        yield made("exactly", (f"There {are} with {{}}.",), f"count({having}) == {n}")
        if n > 1:
            yield made(
                "least", (f"There are at least {number(n, 'tower')} with {{}}.",), f"ge(count({having}), {n})"
            )
        them = {1: "it has", 2: "both have", 3: "all of them have"}[n]
        yield made(
            "all",
            (f"There {are}, and {them} {{}}.",),
            f"count({TOWERS}) == {n} and count({having}) == {n}",
        )


def _about_blocks() -> Iterator[Statement]:
    """Numbers of blocks by colour and place, and comparisons."""
    for n in range(1, 7):
        are = "is" if n == 1 else "are"
        yield Statement(
            "blocks", (f"There {are} exactly {number(n, 'block')} in total.",), f"count(all_items) == {n}"
        )
        for c, name in enumerate(COLORS):
            of_color = f"count(filter_color(all_items, {color(c)}))"
            yield Statement(
                "blocks:color",
                (f"There {are} exactly {number(n, f'{name} block')}.",),
                f"{of_color} == {n}",
                _colored(c),
            )
            all_of_them = "it is" if n == 1 else "all of them are"
            yield Statement(
                "blocks:all",
                (f"There {are} exactly {number(n, 'block')}, and {all_of_them} {name}.",),
                f"count(all_items) == {n} and {of_color} == {n}",
                _colored(c),
            )
            for other in set(range(3)) - {c}:
                of_other = f"count(filter_color(all_items, {color(other)}))"
                yield Statement(
                    "blocks:lacking",
                    (f"There {are} exactly {number(n, f'{name} block')} and no {COLORS[other]} block.",),
                    f"{of_color} == {n} and {of_other} == 0",
                    _colored(c),
                )
                for m in range(1, 4):
                    if n <= 4 and n + m <= 6:
                        also = number(m, f"{COLORS[other]} block")
                        yield Statement(
                            "blocks:two_colors",
                            (f"There {are} exactly {number(n, f'{name} block')} and exactly {also}.",),
                            f"{of_color} == {n} and {of_other} == {m}",
                            _colored(c, other),
                        )
                if n <= 3:
                    more = f"{n} more {name} block{'' if n == 1 else 's'} than {COLORS[other]} blocks"
                    yield Statement(
                        "blocks:difference",
                        (f"There {are} exactly {more}.",),
                        f"{of_color} == {of_other} + {n}",
                    )
                    yield Statement(
                        "blocks:more",
                        (
                            f"There are more {name} blocks than {COLORS[other]} blocks, and exactly "
                            f"{number(n, f'{COLORS[other]} block')}.",
                        ),
                        f"gt({of_color}, {of_other}) and {of_other} == {n}",
                    )
    for place, is_there, words in (("base", "is_bottom", "at the base"), ("top", "is_top", "at the top")):
        for (c, name), n in product(enumerate(COLORS), (1, 2, 3)):
            are = "block is" if n == 1 else "blocks are"
            there = f"filter_obj(all_items, lambda x: x.box.is_tower() and {is_there}(x))"
            yield Statement(
                f"ends:{place}",
                (f"Exactly {amount(n)} {name} {are} {words} of a tower.",),
                f"count(filter_color({there}, {color(c)})) == {n}",
            )
            for other in set(range(3)) - {c}:
                yield Statement(
                    f"ends_without:{place}",
                    (
                        f"Exactly {amount(n)} {name} {are} {words} of a tower, and no "
                        f"{COLORS[other]} block is {words} of a tower.",
                    ),
                    f"count(filter_color({there}, {color(c)})) == {n} and "
                    f"count(filter_color({there}, {color(other)})) == 0",
                )


def _colored(*colors: int) -> tuple[Stack, ...]:
    """The towers of one color each."""
    return tuple((c,) * height for c in colors for height in range(1, HIGHEST + 1))


def _about_counts_of_towers() -> Iterator[Statement]:
    """Numbers of towers, and comparisons of their heights."""
    for n in (1, 2, 3):
        towers = f"There {'is' if n == 1 else 'are'} exactly {number(n, 'tower')}"
        counted = f"count({TOWERS}) == {n}"
        yield Statement("towers", (f"{towers}.",), counted)
        for m in range(n, min(HIGHEST * n, 6) + 1):
            blocks = f"exactly {number(m, 'block')} in total"
            yield Statement(
                "towers:blocks", (f"{towers} and {blocks}.",), f"{counted} and count(all_items) == {m}"
            )
        if n > 1:
            heights = f"all_same_attribute({TOWERS}, count)"
            yield Statement(
                "towers:same_height",
                (f"{towers}, and they have the same number of blocks.",),
                f"{counted} and {heights}",
            )
    for n in (2, 3):
        for c, name in enumerate(COLORS):
            tops = "filter_obj(all_items, lambda x: x.box.is_tower() and is_top(x))"
            yield Statement(
                "towers:same_height_tops",
                (
                    f"There are exactly {number(n, 'tower')}, they have the same number of blocks, and no "
                    f"{name} block is at the top of a tower.",
                ),
                f"count({TOWERS}) == {n} and all_same_attribute({TOWERS}, count) and "
                f"count(filter_color({tops}, {color(c)})) == 0",
            )


def _two_sentences() -> Iterator[Statement]:
    """ "There is a tower with P, and there is no tower with Q", of properties of different kinds."""
    for one, other in permutations(properties(), 2):
        if one.phrase.kind == other.phrase.kind or one.stacks <= other.stacks:
            continue
        having, lacking = (
            f"filter_obj(all_boxes, lambda x: x.is_tower() and {each.phrase.code})" for each in (one, other)
        )
        yield Statement(
            f"but_no:{one.phrase.kind}+{other.phrase.kind}",
            tuple(
                f"There is a tower with {text}, and there is no tower with {absent}."
                for text, absent in zip(one.phrase.texts, other.phrase.texts * 2)
            ),
            f"exist({having}) and NOT(exist({lacking}))",
            tuple(sorted(one.stacks)),
        )
