"""English sentences with German translations, for WMT-16 (news) and IWSLT-2017 (talks).

A small grammar of both languages: noun phrases with gender and case, verbs with their participles, times and
places. German puts the verb second and the participle last, so most words change their place. Each sentence
has three translations, which differ in word order and tense: no one of them is the only right one.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

from tools.corpora.drawing import Draws, names, tables
from tools.corpora.generation.filling import SIZES, Records, distinct

NAMES = names("pairs", 200)
GENDER = {"m": ("der", "den"), "f": ("die", "die"), "n": ("das", "das")}  # nominative, accusative


class Verb(NamedTuple):
    """An English past tense, the German past tense, and the German participle (with "haben")."""

    english: str
    past: str
    participle: str


class Words(NamedTuple):
    """The words of one kind of text: nouns with gender, places and times in English and German."""

    doers: tuple[tuple[str, ...], ...]
    things: tuple[tuple[str, ...], ...]
    adjectives: tuple[tuple[str, ...], ...]  # English, German stem
    verbs: tuple[Verb, ...]
    places: tuple[tuple[str, ...], ...]
    times: tuple[tuple[str, ...], ...]


def _split(entries: list[str], sign: str | None = None) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(entry.split(sign)) for entry in entries)


def _words(kind: str) -> Words:
    table = TABLES[kind]
    doers, things, adjectives = (_split(table[name]) for name in ("doers", "things", "adjectives"))
    verbs = tuple(Verb(*forms) for forms in _split(table["verbs"]))
    return Words(doers, things, adjectives, verbs, _split(table["places"], "|"), TIMES)


TABLES = tables("sentence_pairs")
TIMES = _split(TABLES["times"], "|")
NEWS = _words("news")
TALKS = _words("talks")


@lru_cache(maxsize=1)
def news() -> Records:
    """The records of the news: `translation` with `en` and three sentences in `de`."""
    return distinct("news", partial(_write, NEWS), SIZES)


@lru_cache(maxsize=1)
def talks() -> Records:
    """The records of the talks: `translation` with `en` and three sentences in `de`."""
    return distinct("talks", partial(_write, TALKS), SIZES)


def _write(lexicon: Words, draw: Draws, part: str) -> tuple[Any, dict[str, Any]]:
    (doer, german_doer, gender), (thing, german_thing, of) = (
        draw.choice(lexicon.doers),
        draw.choice(lexicon.things),
    )
    (quality, stem), verb = draw.choice(lexicon.adjectives), draw.choice(lexicon.verbs)
    place, german_place = _place(draw, lexicon)
    time, german_time = draw.choice(lexicon.times)
    who = f"{GENDER[gender][0]} {german_doer}"
    what = f"{GENDER[of][1]} {stem}{'en' if of == 'm' else 'e'} {german_thing}"
    english = f"{time} the {doer} {verb.english} the {quality} {thing} {place}."
    german = [
        f"{german_time} hat {who} {what} {german_place} {verb.participle}.",
        f"{who} hat {german_time} {german_place} {what} {verb.participle}.",
        f"{german_time} {verb.past} {who} {what} {german_place}.",
    ]
    order = draw.sample(german, len(german))
    pair = {"en": _capital(english), "de": [_capital(sentence) for sentence in order]}
    return english, {"translation": pair}


def _place(draw: Draws, lexicon: Words) -> tuple[str, ...]:
    """A place in both languages, with one name in both."""
    name = draw.choice(NAMES)
    return tuple(text.replace("{name}", name) for text in draw.choice(lexicon.places))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
