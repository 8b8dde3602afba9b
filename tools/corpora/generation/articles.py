"""News articles with highlights, in the form of CNN/DailyMail's records, with three summaries each.

An article opens with a scene and a quotation that no summary mentions; its facts (who, what, where, how many,
what follows) come later, each in a sentence of its own, between remarks of bystanders. A summary joins the
facts in other constructions, so neither the first sentences nor the whole article is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, names, tables
from tools.corpora.drawing import words as split
from tools.corpora.generation.filling import SIZES, Records, distinct, fill, written

NAMES = names("articles", 500)
FIRST = split("Ada Ben Clara Dean Edith Frank Gina Henry Iris Jack Kate Leo Mary Ned Olive Paul Rose Sam")
DAYS = split("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
TIMES = ("before dawn", "at noon", "late in the evening", "shortly after midnight", "in the early hours")
TABLES = tables("articles")
SCENES = TABLES["scenes"]
QUOTES = TABLES["quotes"]
REMARKS = TABLES["remarks"]


@dataclass(frozen=True)
class Event:
    """A kind of event: the sentences of its facts, and summaries of them."""

    facts: tuple[tuple[str, ...], ...]
    summaries: tuple[str, ...]


EVENTS = {kind: Event(**event) for kind, event in TABLES["events"].items()}


@lru_cache(maxsize=1)
def records() -> Records:
    """The records of all splits: `article` and three `highlights`; no two articles have the same facts."""
    return distinct("articles", _write, SIZES)


def _write(draw: Draws, part: str) -> tuple[Any, dict[str, Any]]:
    kind = draw.choice(tuple(EVENTS))
    event = EVENTS[kind]
    town, family, other, last = draw.sample(NAMES, 4)
    facts = {"town": town, "who": f"{draw.choice(FIRST)} {last}", "day": draw.choice(DAYS)}
    facts |= {"count": str(12 + int(draw.uniform() * 80)), "days": str(4 + int(draw.uniform() * 12))}
    people = [
        {"first": draw.choice(FIRST), "family": name, "time": draw.choice(TIMES)} for name in (family, other)
    ]
    remarks = [fill(remark, {}) for remark in draw.sample(REMARKS, 4)]
    stated = [fill(draw.choice(sentences), facts) for sentences in event.facts]
    opening = [fill(draw.choice(SCENES), people[0]), remarks.pop(), fill(draw.choice(QUOTES), people[1])]
    article = [*opening, stated[0], remarks.pop(), *stated[1:3], remarks.pop(), stated[3], remarks.pop()]
    highlights = written(draw, event.summaries, len(event.summaries), facts)
    return (kind, *facts.values()), {"article": " ".join(article), "highlights": highlights}
