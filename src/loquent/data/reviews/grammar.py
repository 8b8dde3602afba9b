"""The sentence templates of the built-in reviews.

A review begins with neutral sentences. Then come opinions, most of the review's own polarity and some of the
other. It ends with a verdict of its polarity. In half of the opinions the words alone do not decide the
polarity: a negation reverses it ("never dull"), or a contrast outweighs it ("although the plot is stale , the
acting is superb"). In templates `+` marks words of the sentence's polarity and `-` words of the other; `a.`
and `b.` are two different aspects of the film.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from loquent.data.reviews.lexicon import ASPECTS, BAD, GOOD, NEUTRAL, TEMPLATES

OPENING, PREMISE, DETAIL, DIRECT, NEGATED, CONTRAST, VERDICT, VERDICT_FOR, VERDICT_AGAINST = (
    TEMPLATES.values()
)

NAMES = ("title", "director", "actor", "family", "home", "friend")  # drawn once per review, in this order
Part = str | int | tuple["str | Parts", ...]  # a literal, an index into `NAMES`, or a choice
Parts = tuple[Part, ...]


def names(draw: Iterator[float]) -> tuple[str, ...]:
    """The names of a review, in the order of `NAMES`."""
    title = _fill(_neutral("the {title word} {title noun}"), draw, ())
    director = _fill(_neutral("{first name} {last name}"), draw, ())
    actor = _fill(_neutral("{first name} {last name}"), draw, ())
    home = _fill(_neutral("{place}"), draw, ())
    return title, director, actor, actor.split()[1], home, _fill(_neutral("{companion}"), draw, ())


def neutral(templates: Sequence[str], draw: Iterator[float], names: Sequence[str]) -> str:
    """One sentence without polarity."""
    return _fill(_neutral(_pick(templates, draw)), draw, names)


def write_sentence(
    templates: Sequence[str],
    positive: bool,
    draw: Iterator[float],
    names: Sequence[str],
    first: str,
    second: str,
) -> str:
    """One sentence for or against the film, about one or two of its aspects."""
    return _fill(_sided(_pick(templates, draw), positive, first, second), draw, names)


def verdict(positive: bool, draw: Iterator[float], names: Sequence[str]) -> str:
    """The last sentence of a review."""
    if next(draw) < 0.5:
        return neutral(VERDICT_FOR if positive else VERDICT_AGAINST, draw, names)
    return write_sentence(VERDICT, positive, draw, names, "acting", "story")


def _fill(parts: Parts, draw: Iterator[float], names: Sequence[str]) -> str:
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
        elif isinstance(part, int):
            text += names[part]
        else:
            option = part[int(next(draw) * len(part))]
            text += option if isinstance(option, str) else _fill(option, draw, names)
    return text


def _pick(options: Sequence[str], draw: Iterator[float]) -> str:
    return options[int(next(draw) * len(options))]


@cache
def _neutral(template: str) -> Parts:
    return _parts(template, NEUTRAL)


@cache
def _sided(template: str, positive: bool, first: str, second: str) -> Parts:
    slots: dict[str, tuple[str, ...]] = dict(NEUTRAL)
    for sign, good in (("+", positive), ("-", not positive)):
        slots |= {name + sign: words for name, words in (GOOD if good else BAD).items()}
        for letter, aspect in (("a", ASPECTS[first]), ("b", ASPECTS[second])):
            slots |= {
                f"{letter}.noun": aspect.nouns,
                f"{letter}.adjective{sign}": aspect.good if good else aspect.bad,
            }
    return _parts(template, slots)


def _parts(template: str, slots: Mapping[str, tuple[str, ...]]) -> Parts:
    """A template as literals, names and choices; slots inside a slot's options are parsed too."""
    parts: list[Part] = []
    for i, piece in enumerate(re.split(r"\{(.*?)\}", template)):  # literal, slot, literal, slot, ..., literal
        if i % 2 == 0:
            parts += [piece] if piece else []
        elif piece in NAMES:
            parts.append(NAMES.index(piece))
        else:
            parts.append(tuple(_parts(option, slots) if "{" in option else option for option in slots[piece]))
    return tuple(parts)
