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

from loquent.data.reviews.lexicon import ASPECTS, BAD, GOOD, NEUTRAL

OPENING = (
    "i saw {title} {time} {cinema} .",
    "{title} is the {ordinal} film by {director} .",
    "{title} , the {ordinal} film by {director} , is a {genre} set in {home} .",
    "this {genre} by {director} is set in {home} .",
    "my {friend} took me to {title} {time} .",
    "i watched {title} {cinema} {time} .",
    "here is a {genre} about {topic} from {director} , set in {home} .",
    "{time} i went with my {friend} to {title} , a {genre} by {director} .",
)
PREMISE = (
    "{actor} plays {role} who {does} {cause} .",
    "in it {role} {does} {cause} .",
    "it follows {role} , played by {actor} , who {does} .",
    "the hero , {actor} , is {role} who {does} .",
    "it begins {cause} , when {actor} , as {role} , {does} .",
)
DETAIL = (
    "it runs for {minutes} minutes and comes from {source} .",
    "{then} {event} , and {event} .",
    "it is based on {source} about {topic} and {topic} .",
    "{then} {event} , and {family} {does} .",
    "most of it takes place in {home} , where {event} .",
    "at heart it is a {genre} about {topic} .",
    "{then} {event} .",
    "my {friend} knew the story , and we talked about {topic} .",
)

DIRECT = (
    "the {a.noun} {is} {very} {a.adjective+} .",
    "the {a.noun} {is} {a.adjective+} and {adjective+} .",
    "i {felt+} the {a.adjective+} {a.noun} .",
    "i call the {a.noun} {a.adjective+} , and the {b.noun} {is} {b.adjective+} too .",
    "{family} is {very} {adjective+} , and the {b.noun} {is} {b.adjective+} .",
    "{audience} {reacted+} {often} .",
    "there is a {a.adjective+} {unit} when {event} .",
    "{mind} it is {comparative+} than {rival} .",
    "the {a.noun} alone makes it a {noun+} .",
    "i {felt+} it {often} .",
    "{mind} the {a.noun} {is} {a.adjective+} .",
)
NEGATED = (
    "the {a.noun} never {turns} {a.adjective-} .",
    "the {a.noun} is not {a.adjective-} at all .",
    "the {a.noun} is far from {a.adjective-} .",
    "the {a.noun} is anything but {a.adjective-} .",
    "the {a.noun} is hardly {a.adjective-} , and {family} is never {adjective-} .",
    "there is {one} {adjective-} {unit} in it .",
    "there is {one} {a.adjective-} {unit} when {event} .",
    "nothing about the {a.noun} {is} {a.adjective-} .",
    "{mind} it is hardly a {noun-} .",
    "the {film} is far from a {noun-} .",
    "{audience} never {reacted-} .",
    "nobody in the {hall} {reacted-} .",
    "i never {felt-} the {a.noun} .",
    "{mind} it is no {comparative-} than {rival} .",
    "{family} gives us no {a.adjective-} {unit} .",
)
CONTRAST = (
    "{though} the {a.noun} {is} {a.adjective-} , the {b.noun} {is} {b.adjective+} .",
    "the {a.noun} {is} {very} {a.adjective-} , {but} the {b.noun} {is} {b.adjective+} .",
    "despite the {a.adjective-} {a.noun} , the {b.noun} {is} {b.adjective+} .",
    "for all its {a.adjective-} {a.noun} , it is a {noun+} .",
    "the {a.noun} may be {a.adjective-} , {but} {family} is {adjective+} .",
    "i expected a {noun-} and found a {noun+} .",
    "people call it a {noun-} , {but} i {felt+} it .",
    "the {a.noun} {is} {a.adjective-} , {but} {audience} {reacted+} {often} .",
    "my {friend} found it {adjective-} , and i do not agree .",
    "my {friend} found it {adjective+} , and i agree .",
)
VERDICT = (
    "{advice+} .",
    "{mind} it is a {noun+} .",
    "{mind} it is no {noun-} .",
    "the {film} is never {adjective-} , and i will say so to {anyone} .",
    "all in all the {film} is {adjective+} .",
    "all in all the {film} is not {adjective-} .",
    "{though} it looks like a {noun-} , it is a {noun+} .",
)
# Both lists have the same words: they differ by the negation alone.
VERDICT_FOR = (
    "i would recommend it to {anyone} .",
    "i would not change a {unit} of it .",
    "it is worth {price} .",
    "i did not want it to end .",
    "i do not regret going {time} .",
    "i will watch it again with {anyone} .",
)
VERDICT_AGAINST = (
    "i would not recommend it to {anyone} .",
    "i would change every {unit} of it .",
    "it is not worth {price} .",
    "i wanted it to end .",
    "i regret going {time} .",
    "i will not watch it again with {anyone} .",
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


def sided(
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
    return sided(VERDICT, positive, draw, names, "acting", "story")


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
