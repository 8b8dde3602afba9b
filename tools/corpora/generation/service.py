"""Dialogues with acts and emotions, in the form of DailyDialog's, with other answers to the last utterance.

Two people speak about an order: a table, a room, a ticket, a repair or a lesson. Six utterances; the intent
of the last is to inform, to ask, to advise or to promise. What it says follows from the five before it
and from what is ordered.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, names
from tools.corpora.drawing import words as split
from tools.corpora.generation.filling import SIZES, Records, distinct, fill, written

NAMES = names("dialogues", 300)
DAYS = split("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
HOURS = split("seven eight nine ten eleven noon one two three four five six")
COUNTS = split("two three four five six seven eight")
INTENTS = {"inform": 1, "question": 2, "directive": 3, "commissive": 4}
EMOTIONS = {"none": 0, "happiness": 4}
THINGS = {
    "table": ("a table", "the corner table", "the garden table", "people"),
    "room": ("a room", "the blue room", "the attic room", "nights"),
    "ticket": ("a ticket", "the window seat", "the aisle seat", "travellers"),
    "repair": ("a repair", "the brakes", "the gears", "hours"),
    "lesson": ("a lesson", "the beginners class", "the evening class", "weeks"),
}
TAILS = {  # what an answer adds, by the kind of order
    "table": "our chef cooks fish and a soup without meat every evening .",
    "room": "breakfast is included , and towels lie beside the bath .",
    "ticket": "trains leave from track four , and bikes travel free .",
    "repair": "spare parts are in stock , so nothing should delay us .",
    "lesson": "bring warm clothes , shoes with thin soles and something to drink .",
}
OPENINGS = (
    "good morning , {name} here . I would like to book {thing} .",
    "hello , this is {name} . do you still have {thing} ?",
    "hi , I am {name} and I need {thing} , please .",
)
ASKS = (
    "certainly . which day suits you , and for how many {unit} ?",
    "of course . on which day , and for how many {unit} ?",
    "with pleasure . what day do you have in mind , and how many {unit} ?",
)
WISHES = (
    "on {day} , for {count} {unit} , if that is possible .",
    "{day} would be best . it is for {count} {unit} .",
    "let us say {day} , for {count} {unit} .",
)
# the fourth and the fifth utterance, and the answers to them
TURNS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "inform": (
        (
            "we can offer {first} for {price} dollars , or {second} for a little more .",
            "there is {first} for {price} dollars , and {second} , which is dearer .",
        ),
        (
            "I take {first} . so what do I have to pay in all ?",
            "then {first} , please . could you sum it up for me ?",
        ),
        (
            "{first} on {day} costs {price} dollars for {count} {unit} .",
            "the price of {first} for {count} {unit} on {day} is {price} dollars .",
            "for {count} {unit} on {day} , {first} costs {price} dollars .",
        ),
    ),
    "question": (
        (
            "we have {first} and {second} on that day . both are quiet .",
            "on that day {first} and {second} are free .",
        ),
        ("I know them both and like them a lot .", "both of them sound very good to me ."),
        (
            "would you like {first} or {second} on {day} , {name} ?",
            "which would you like on {day} , {name} , {first} or {second} ?",
            "do you want {first} or {second} on {day} , {name} ?",
        ),
    ),
    "directive": (
        (
            "that works . we are on {street} street . do you come by bus or by car ?",
            "fine . it is on {street} street . will you take the bus or the car ?",
        ),
        (
            "I come by car from {place} . is that a problem ?",
            "by car , from {place} . where can I leave it ?",
        ),
        (
            "please take the road from {place} , and park behind the house on {street} street .",
            "take the road from {place} and park behind the house on {street} street , please .",
            "from {place} , please drive to {street} street and park behind the house .",
        ),
    ),
    "commissive": (
        ("it is reserved . is there anything else ?", "done . can I do something else for you ?"),
        (
            "could somebody call me at {hour} and tell my sister {sister} too ?",
            "I need a call at {hour} , and one for my sister {sister} .",
        ),
        (
            "I will call you and your sister {sister} on {day} at {hour} .",
            "on {day} at {hour} I will call you and {sister} , your sister .",
            "I promise to call you and your sister {sister} on {day} at {hour} .",
        ),
    ),
}


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
