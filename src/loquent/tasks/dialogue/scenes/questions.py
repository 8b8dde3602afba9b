"""Questions about built-in scenes: which property a text asks for, and the truthful answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from loquent.tasks.dialogue.game.rules import MOST_CHARACTERS
from loquent.tasks.dialogue.scenes.domains import DOMAIN_OF, OFF_TOPIC, UNKNOWN
from loquent.tasks.dialogue.scenes.scene import Scene, caption, value_text

CHECKS = frozenset(["is", "are", "was", "were", "does", "do", "did", "has", "have", "can", "could"])
YES, NO = "yes", "no"


@dataclass(frozen=True)
class Asked:
    """A question about a property by its number; `value` is the number of the value in a yes/no question."""

    number: int
    value: int | None = None


def normalise(text: str) -> str:
    """A text in lower case, with American spelling and single spaces, without marks.

    It is read up to `rules.MOST_CHARACTERS`.
    """
    text = text[:MOST_CHARACTERS].lower().replace("colour", "color")
    return " ".join(re.findall(r"[a-z0-9']+", text))


def parse(text: str, subject: str) -> Asked | None:
    """The property that a question asks for in a scene with a subject; None: none of its properties.

    The world's own questions are found exactly. For other texts the cues of the properties decide: the
    property with the most cues, if it is the only one; a text that begins like a yes/no question and names a
    value checks that value.
    """
    line = normalise(text)
    exact = _exact(subject)
    if line in exact:
        return exact[line]
    if line in _off_topic():
        return None
    return _by_cues(line, subject)


def answer(text: str, scene: Scene) -> str:
    """The truthful answer to any text: a value, yes, no, or "i can't tell"."""
    if (fixed := _off_topic().get(normalise(text))) is not None:
        return fixed
    asked = parse(text, scene.subject)
    if asked is None:
        return UNKNOWN
    if asked.value is None:
        return scene.text(asked.number)
    return YES if scene.values[asked.number] == asked.value else NO


def value_in(text: str, subject: str, number: int) -> int | None:
    """The number of the value of a property that an answer names; None: no value, or several."""
    return _value_in(normalise(text), subject, number)


def _value_in(line: str, subject: str, number: int) -> int | None:
    """`value_in` for a normalised text."""
    words = f" {line} "
    named = [value for value, name in enumerate(_values(subject, number)) if f" {name} " in words]
    return named[0] if len(named) == 1 else None


def unknown(caption: str, asked: Sequence[str]) -> str | None:
    """The question for the first property that neither the caption states nor a question was about.

    None when there is none, or for a caption of another world.
    """
    stated = captions().get(normalise(caption))
    if stated is None:
        return None
    subject, number, _ = stated
    meanings = [parse(text, subject) for text in asked]
    known = {number, *(meaning.number for meaning in meanings if meaning is not None)}
    texts = [text for text, meaning in question_texts(subject) if meaning.value is None]
    return next((text for place, text in enumerate(texts) if place not in known), None)


@cache
def question_texts(subject: str) -> tuple[tuple[str, Asked], ...]:
    """All questions of the world about a subject, with their meaning."""
    texts: list[tuple[str, Asked]] = []
    for number, asked in enumerate(DOMAIN_OF[subject].properties):
        texts.append((asked.asked.format(s=subject), Asked(number)))
        for value in range(len(asked.values)):
            text = asked.checked.format(s=subject, v=value_text(asked, value, subject))
            texts.append((text, Asked(number, value)))
    return tuple(texts)


@cache
def captions() -> dict[str, tuple[str, int, int]]:
    """Each caption in its normalised form with its subject, and the property and value that it states."""
    return {
        normalise(caption(subject, number, value)): (subject, number, value)
        for subject, domain in DOMAIN_OF.items()
        for number, stated in enumerate(domain.properties)
        for value in range(len(stated.values))
    }


@cache
def _exact(subject: str) -> dict[str, Asked]:
    return {normalise(text): asked for text, asked in question_texts(subject)}


@cache
def _off_topic() -> dict[str, str]:
    return {normalise(text): answer for text, answer in OFF_TOPIC.items()}


@cache
def _values(subject: str, number: int) -> tuple[str, ...]:
    """The normalised names of the values of a property."""
    stated = DOMAIN_OF[subject].properties[number]
    return tuple(normalise(value_text(stated, value, subject)) for value in range(len(stated.values)))


def _by_cues(line: str, subject: str) -> Asked | None:
    properties, words = DOMAIN_OF[subject].properties, line.split()
    is_check = bool(words) and words[0] in CHECKS
    if is_check:
        named = [(n, v) for n in range(len(properties)) if (v := _value_in(line, subject, n)) is not None]
        if len(named) == 1:
            return Asked(*named[0])
    scores = [sum(cue in words for cue in asked.cues) for asked in properties]
    best = max(scores)
    if best == 0 or scores.count(best) > 1:
        return None
    number = scores.index(best)
    value = _value_in(line, subject, number) if is_check else None
    return None if is_check and value is None else Asked(number, value)
