"""Dialogues with acts and emotions, in the form of DailyDialog's, with other answers to the last utterance.

Two people speak about an order: a table, a room, a ticket, a repair or a lesson. Six utterances; the intent
of the last is to inform, to ask, to advise or to promise. What it says follows from the five before it
and from what is ordered.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, names, tables
from tools.corpora.drawing import words as split
from tools.corpora.generation.filling import SIZES, Records, distinct, fill, written

NAMES = names("dialogues", 300)
DAYS = split("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
HOURS = split("seven eight nine ten eleven noon one two three four five six")
COUNTS = split("two three four five six seven eight")
INTENTS = {"inform": 1, "question": 2, "directive": 3, "commissive": 4}
EMOTIONS = {"none": 0, "happiness": 4}
TABLES = tables("service")
THINGS = TABLES["things"]
TAILS = TABLES["tails"]
OPENINGS = TABLES["openings"]
ASKS = TABLES["asks"]
WISHES = TABLES["wishes"]
# the fourth and the fifth utterance, and the answers to them
TURNS = TABLES["turns"]


@lru_cache(maxsize=1)
def records() -> Records:
    """The records of all splits: `dialog`, `act`, `emotion`, and `responses`, two other last utterances."""
    return distinct("dialogues", _write, SIZES)


def _write(draw: Draws, part: str) -> tuple[Any, dict[str, Any]]:
    kind = draw.choice(tuple(THINGS))
    thing, first, second, unit = THINGS[kind]
    intent = draw.choice(tuple(TURNS))
    filling = {"thing": thing, "first": first, "second": second, "unit": unit, "intent": intent}
    filling |= {"day": draw.choice(DAYS), "hour": draw.choice(HOURS), "count": draw.choice(COUNTS)}
    filling["name"], filling["place"], filling["street"], filling["sister"] = draw.sample(NAMES, 4)
    filling["price"] = str(20 + 5 * int(draw.uniform() * 60))
    offers, replies, answers = TURNS[intent]
    turns = [fill(draw.choice(group), filling) for group in (OPENINGS, ASKS, WISHES, offers, replies)]
    last, *others = (f"{answer} {fill(TAILS[kind], {})}" for answer in written(draw, answers, 3, filling))
    acts = [3, 2, 1, 2 if turns[3].endswith("?") else 1, 2 if turns[4].endswith("?") else 1, INTENTS[intent]]
    emotions = [EMOTIONS["none"]] * 5 + [EMOTIONS["happiness" if intent == "commissive" else "none"]]
    record = {"dialog": [*turns, last], "act": acts, "emotion": emotions, "responses": others}
    return tuple(turns), record
