"""Tales with questions, in the form of NarrativeQA's files, with three answers each.

A tale is a summary of a short plot: somebody leaves a town to look for a thing, meets a helper, loses
something, is betrayed, and ends somewhere. Each question asks for one fact; the answers name it in several
ways, as different people do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, names
from tools.corpora.drawing import words as split
from tools.corpora.generation.filling import Records, distinct, fill, written

NAMES = names("tales", 520)
TALES = {"train": 800, "validation": 80, "test": 80}
QUESTIONS = 4  # of a tale
TRADES = split(
    "weaver miller painter smith sailor thief widow clockmaker gardener soldier doctor singer baker ferryman"
)
KINDS = split(
    "silver wooden golden stolen broken cursed forgotten painted hidden ancient glass iron ivory copper"
)
GOODS = split("bell mirror crown flute map sword ring book lamp mask harp compass key violin statue seed")
PLACES = split(
    "tower cave mill chapel lighthouse garden cellar island tavern mine bridge library orchard prison"
)
WEATHER = ("in a storm", "on a moonless night", "during the harvest", "in deep snow", "at the spring fair")
REASONS = (
    "pay a debt",
    "heal a brother",
    "wake the king",
    "win a wager",
    "break a spell",
    "save the village",
    "free a prisoner",
    "keep a promise",
    "end the drought",
    "feed the children",
)
STORY = (
    (
        "{hero}, a {trade} from {town}, sets out {weather} to find a {kind} {good}.",
        "in {town} lives the {trade} {hero}, who leaves home {weather} to look for a {kind} {good}.",
    ),
    ("The {trade} needs it to {reason}.", "Without it nobody can {reason}, and so there is no choice."),
    (
        "On the road {helper}, a {helping}, shows the way to the {place} of {far}.",
        "A {helping} named {helper} joins the journey and speaks of the {place} of {far}.",
    ),
    (
        "They sleep under trees and live on bread and berries.",
        "For weeks they see no other soul.",
        "The hills seem to have no end.",
    ),
    (
        "But {traitor}, whom both of them trust, takes {loss} while they sleep.",
        "Then {loss} is gone: {traitor}, an old friend, has taken it.",
    ),
    (
        "In the {place} they find the {good} under a stone, guarded by nobody.",
        "The {good} lies in the {place}, as {helper} said it would.",
    ),
    (
        "When all is done, the two marry and keep an inn in {end}.",
        "In the end they settle in {end}, and songs are made of them.",
    ),
)
# a question, and three answers
ASKED: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "What does {hero} look for?",
        ("a {kind} {good}", "the {kind} {good}", "a {kind} {good} from the {place}"),
    ),
    ("Why is the {good} needed?", ("to {reason}", "in order to {reason}", "it is needed to {reason}")),
    ("Who shows {hero} the way?", ("{helper}", "the {helping} {helper}", "{helper}, a {helping}")),
    (
        "Where is the {good} found?",
        ("in the {place} of {far}", "the {place} of {far}", "it is in the {place} of {far}"),
    ),
    ("Who betrays {hero}?", ("{traitor}", "their friend {traitor}", "it is {traitor}")),
    ("What does {traitor} take?", ("{loss}", "{traitor} takes {loss}", "{loss} of theirs")),
    ("Where do {hero} and {helper} live in the end?", ("in {end}", "an inn in {end}", "they live in {end}")),
    ("What is the trade of {hero}?", ("a {trade}", "{hero} is a {trade}", "a {trade} by trade")),
)
LOSSES = tuple(
    f"the {kind} {thing}"
    for kind in split("last red heavy only")
    for thing in split("horse coat purse lantern boat tent rope")
)


@lru_cache(maxsize=1)
def records() -> Records:
    """The records of all splits: `question`, `summary` and three `answers`; no tale stands in two splits."""
    return {
        part: tuple(record for tale in tales for record in tale["questions"])
        for part, tales in distinct("tales", _write, TALES).items()
    }


def _write(draw: Draws, part: str) -> tuple[Any, dict[str, Any]]:
    hero, helper, traitor, town, far, end = draw.sample(NAMES, 6)
    filling = {"hero": hero, "helper": helper, "traitor": traitor, "town": town, "far": far, "end": end}
    filling["trade"], filling["helping"] = draw.sample(TRADES, 2)
    filling |= {"kind": draw.choice(KINDS), "good": draw.choice(GOODS), "place": draw.choice(PLACES)}
    filling |= {"weather": draw.choice(WEATHER), "reason": draw.choice(REASONS), "loss": draw.choice(LOSSES)}
    filling |= {"a": "a", "a_trade": "a"}
    summary = " ".join(fill(draw.choice(sentences), filling) for sentences in STORY)
    asked = [
        {
            "question": fill(question, filling),
            "summary": summary,
            "answers": written(draw, answers, 3, filling),
        }
        for question, answers in draw.sample(ASKED, QUESTIONS)
    ]
    return summary, {"questions": asked}
