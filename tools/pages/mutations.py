"""Change pages as mistakes would, and count the changes that `python -m tools.pages --check` reports.

python -m tools.pages.mutations [COUNT] [SEED]

A change exchanges two cells of a row, two rows of a table or two numbers of a section, or makes a number
larger or smaller by one in its last digit: in a table, a sentence or a list of claims of a page with results.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping

from tools.pages import prose
from tools.pages.page import key, pages, problems

Change = tuple[str, str]  # the kind and the changed text
ROW = re.compile(r"^ *\|.*\|$", re.MULTILINE)
NUMBER = prose.FIGURE


def results(text: str) -> Iterator[prose.Span]:
    """The places of the sections of a page, if it has results."""
    return prose.sections(text) if prose.RESULT.search(text) else iter(())


def swap(text: str, first: prose.Span, second: prose.Span) -> str:
    """A text with two of its parts exchanged."""
    return (
        text[: first[0]]
        + text[slice(*second)]
        + text[first[1] : second[0]]
        + text[slice(*first)]
        + text[second[1] :]
    )


def cells(text: str, row: prose.Span) -> list[prose.Span]:
    """The places of the cells of a row that have a number."""
    places = [match.span(1) for match in re.finditer(r"(?<=\|) *([^|\n]*?) *(?=\|)", text[slice(*row)])]
    found = [(row[0] + first, row[0] + last) for first, last in places]
    return [place for place in found if NUMBER.search(text, *place)]


def step(printed: str, up: bool) -> str:
    """A number with its last digit one larger or smaller."""
    if printed.lower() in prose.WORDS:
        return prose.WORDS[(prose.WORDS.index(printed.lower()) + (1 if up else -1)) % len(prose.WORDS)]
    mantissa, _, power = printed.partition("e")
    digits = len(mantissa.partition(".")[2])
    value = float(mantissa.replace(",", "")) + (1 if up else -1) * 10.0**-digits
    text = prose.like(mantissa, value)
    return text + f"e{power}" * bool(power)


def changes(text: str, draw: random.Random) -> Iterator[Change]:
    """One change of each kind that the page allows."""
    spans = list(results(text))
    made = [match.span(4) for match in prose.MADE.finditer(text) if match[2] != "settings"]
    rows = [[match.span() for match in ROW.finditer(text, *place)] for place in made]
    tables = [[row for row in found if cells(text, row)] for found in rows]
    numbers = [
        (start + first, start + last)
        for start, end in spans
        for first, last in prose.numbers(text[start:end])
    ]
    inside = [match.span() for place in made for match in NUMBER.finditer(text, *place)]
    pairs: Mapping[str, list[list[prose.Span]]] = {
        "two cells of a row": [cells(text, row) for found in tables for row in found],
        "two rows": tables,
        "two numbers of a text": [
            [number for number in numbers if start <= number[0] < end] for start, end in spans
        ],
    }
    for kind, groups in pairs.items():
        groups = [group for group in groups if len({text[slice(*place)] for place in group}) > 1]
        if groups:
            group = draw.choice(groups)
            first, second = sorted(draw.sample(group, 2))
            if text[slice(*first)] != text[slice(*second)]:
                yield kind, swap(text, first, second)
    for place, spots in {"a table": inside, "a text": numbers}.items():
        for kind in ("integer", "decimal"):
            found = [spot for spot in spots if ("." in text[slice(*spot)]) == (kind == "decimal")]
            if found:
                first, last = draw.choice(found)
                new = step(text[first:last], draw.random() < 0.5)
                yield f"{kind} of {place}", text[:first] + new + text[last:]


def measure(count: int, seed: int) -> tuple[Counter[str], Counter[str], list[str]]:
    """The changes by kind, those that were reported, and the lines of those that were not."""
    draw, texts = random.Random(seed), {page: page.read_text(encoding="utf-8") for page in pages()}
    texts = {page: text for page, text in texts.items() if any(results(text))}
    known = {page: problems(text, key(page)) for page, text in texts.items()}
    made, reported, missed = Counter[str](), Counter[str](), list[str]()
    while made.total() < count:
        page = draw.choice(list(texts))
        options = list(changes(texts[page], draw))
        kind, text = draw.choice(options)
        made[kind] += 1
        if problems(text, key(page)) != known[page]:
            reported[kind] += 1
        else:
            old, new = texts[page].splitlines(), text.splitlines()
            missed += [f"{page.name}, {kind}: {line}" for line in new if line not in old]
    return made, reported, missed


if __name__ == "__main__":
    made, reported, missed = measure(*map(int, [*sys.argv[1:], "500", "0"][:2]))
    print(*missed, sep="\n")
    for kind, number in sorted(made.items()):
        print(f"{kind}: {reported[kind]} of {number}")
    print(f"all: {reported.total()} of {made.total()}, {reported.total() / made.total():.1%}")
