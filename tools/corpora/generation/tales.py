"""Tales with questions, in the form of NarrativeQA's files, with three answers each.

A tale is a summary of a short plot: somebody leaves a town to look for a thing, meets a helper, loses
something, is betrayed, and ends somewhere. Each question asks for one fact; the answers name it in several
ways, as different people do.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, names, tables
from tools.corpora.drawing import words as split
from tools.corpora.generation.filling import Records, distinct, fill, written

NAMES = names("tales", 520)
TALES = {"train": 800, "validation": 80, "test": 80}
QUESTIONS = 4  # of a tale
TABLES = tables("tales")
TRADES = TABLES["trades"]
KINDS = TABLES["kinds"]
GOODS = split("bell mirror crown flute map sword ring book lamp mask harp compass key violin statue seed")
PLACES = TABLES["places"]
WEATHER = ("in a storm", "on a moonless night", "during the harvest", "in deep snow", "at the spring fair")
REASONS = TABLES["reasons"]
STORY = TABLES["story"]
# a question, and three answers
ASKED = TABLES["asked"]
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
