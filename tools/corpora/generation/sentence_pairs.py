"""English sentences with German translations, for WMT-16 (news) and IWSLT-2017 (talks).

A small grammar of both languages: noun phrases with gender and case, verbs with their participles, times and
places. German puts the verb second and the participle last, so most words change their place. Each sentence
has three translations, which differ in word order and tense: no one of them is the only right one.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple

from tools.corpora.drawing import Draws, names
from tools.corpora.generation.filling import SIZES, Records, distinct

NAMES = names("pairs", 200)
GENDER = {"m": ("der", "den"), "f": ("die", "die"), "n": ("das", "das")}  # nominative, accusative


class Verb(NamedTuple):
    """An English past tense, the German past tense, and the German participle (with "haben")."""

    english: str
    past: str
    participle: str


class Words(NamedTuple):
    """The words of one kind of text. Nouns are "English German gender", places and times "English|German"."""

    doers: tuple[tuple[str, ...], ...]
    things: tuple[tuple[str, ...], ...]
    adjectives: tuple[tuple[str, ...], ...]  # English, German stem
    verbs: tuple[Verb, ...]
    places: tuple[tuple[str, ...], ...]
    times: tuple[tuple[str, ...], ...]


def _table(text: str, sign: str | None = None) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(entry.strip() for entry in line.strip().split(sign)) for line in text.split(";"))


TIMES = _table(
    "yesterday|gestern;last week|letzte Woche;on Monday|am Montag;in the evening|am Abend;last "
    "year|letztes Jahr;"
    "two days ago|vor zwei Tagen;in the spring|im Frühling;this morning|heute Morgen;on Sunday|am Sonntag",
    "|",
)
NEWS = Words(
    _table(
        "minister Minister m;judge Richterin f;company Firma f;police Polizei f;mayor Bürgermeister "
        "m;bank Bank f;"
        "parliament Parlament n;union Gewerkschaft f;reporter Reporter m;government Regierung "
        "f;court Gericht n;"
        "president Präsidentin f;committee Ausschuss m;newspaper Zeitung f"
    ),
    _table(
        "law Gesetz n;report Bericht m;contract Vertrag m;budget Haushalt m;decision Entscheidung "
        "f;bridge Brücke f;"
        "plan Plan m;proposal Vorschlag m;factory Fabrik f;tax Steuer f;letter Brief m;border Grenze "
        "f;vote Wahl f;"
        "agreement Abkommen n;project Projekt n;loan Kredit m"
    ),
    _table(
        "new neu;old alt;secret geheim;important wichtig;foreign ausländisch;small klein;expensive "
        "teur;second zweit"
    ),
    (
        Verb("approved", "genehmigte", "genehmigt"),
        Verb("rejected", "verwarf", "verworfen"),
        Verb("criticised", "kritisierte", "kritisiert"),
        Verb("published", "veröffentlichte", "veröffentlicht"),
        Verb("examined", "untersuchte", "untersucht"),
        Verb("defended", "verteidigte", "verteidigt"),
        Verb("discussed", "besprach", "besprochen"),
        Verb("financed", "finanzierte", "finanziert"),
    ),
    _table(
        "in the capital|in der Hauptstadt;in {name}|in {name};at the conference|auf der Konferenz;in "
        "public|öffentlich",
        "|",
    ),
    TIMES,
)
TALKS = Words(
    _table(
        "teacher Lehrerin f;child Kind n;student Student m;father Vater m;scientist Forscherin "
        "f;doctor Arzt m;"
        "artist Künstlerin f;friend Freund m;mother Mutter f;pilot Pilot m;girl Mädchen n;neighbour "
        "Nachbarin f"
    ),
    _table(
        "idea Idee f;machine Maschine f;story Geschichte f;question Frage f;picture Bild n;book Buch "
        "n;dream Traum m;"
        "computer Rechner m;song Lied n;experiment Versuch m;garden Garten m;answer Antwort "
        "f;language Sprache f;"
        "game Spiel n;tool Werkzeug n"
    ),
    _table(
        "simple einfach;new neu;strange seltsam;beautiful schön;big groß;long lang;first "
        "erst;forgotten vergessen"
    ),
    (
        Verb("found", "fand", "gefunden"),
        Verb("invented", "erfand", "erfunden"),
        Verb("described", "beschrieb", "beschrieben"),
        Verb("understood", "verstand", "verstanden"),
        Verb("showed", "zeigte", "gezeigt"),
        Verb("changed", "änderte", "geändert"),
        Verb("loved", "liebte", "geliebt"),
        Verb("needed", "brauchte", "gebraucht"),
    ),
    _table("in Africa|in Afrika;at school|in der Schule;in {name}|in {name};at home|zu Hause", "|"),
    TIMES,
)


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
