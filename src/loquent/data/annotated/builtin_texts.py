"""Built-in texts with one to four subjects: a seeded grammar in which a subject counts when something is told of it, not when it is named.

Every text names subjects that it has no news of ("there was no word on oil"). The labels stand in the order of how much is told of
each, which rewards for order look at.
"""

from __future__ import annotations

from functools import lru_cache

from loquent.data.annotated.drawn import Drawn, words
from loquent.data.sources import Splits
from loquent.task import Row
from loquent.values import Record

SIZES = {"train": 3000, "validation": 500, "test": 500}
MOST = 4
NEGATED = 0.6  # so many texts name a subject of which there is no news
SUBJECTS = {
    "coffee": words("coffee beans roasters"),
    "gold": words("gold bullion miners"),
    "grain": words("wheat maize barley"),
    "money": words("dollars rates banks"),
    "oil": words("crude petrol refineries"),
    "ship": words("tankers ports vessels"),
    "sugar": words("sugar cane molasses"),
    "trade": words("exports tariffs imports"),
    "weather": words("storms drought floods"),
    "wool": words("wool sheep shearers"),
}
LABELS = tuple(SUBJECTS)
NEWS = (
    "{w} gained {n} percent .",
    "{w} fell for the {k} week .",
    "traders spoke of more {w} than last year .",
    "a report on {w} came out in {d} .",
    "talks in {d} dealt with {w} .",
    "the outlook for {w} got worse .",
    "much depends on {w} , a minister said .",
    "buyers paid {n} percent more for {w} .",
)
NO_NEWS = ("there was no word on {w} .", "nobody spoke of {w} .", "{w} did not matter .", "nothing is known about {w} .")
PLAIN = ("the meeting ended in {d} .", "the minister did not answer .", "it was the {k} report this year .")
WORDS = {
    "n": words("two three five eight ten twelve"),
    "k": words("first second third fourth"),
    "d": words("March April May June July August"),
}


@lru_cache(maxsize=1)
def splits() -> Splits:
    """All texts; always the same."""
    made: Splits = {}
    for split, size in SIZES.items():
        draw = Drawn("texts", split)
        made[split] = tuple(Row(f"{split}-{i}", _text(draw)) for i in range(size))
    return made


def _text(draw: Drawn) -> Record:
    count = 1 + sum(draw.below(share) for share in (0.6, 0.45, 0.3))
    chosen = draw.some(LABELS, count + 2)
    labels, others = chosen[:count], chosen[count:]
    told = [_said(draw, draw.one(NEWS), label) for place, label in enumerate(labels) for _ in range(count - place)]
    if draw.below(NEGATED):
        told += [_said(draw, draw.one(NO_NEWS), label) for label in others[: 1 + draw.below(0.5)]]
    told.append(_said(draw, draw.one(PLAIN), labels[0]))
    return Record(text=" ".join(draw.some(told, len(told))), labels=tuple(labels))


def _said(draw: Drawn, form: str, label: str) -> str:
    return form.format(w=draw.one(SUBJECTS[label]), **{name: draw.one(words) for name, words in WORDS.items()})
