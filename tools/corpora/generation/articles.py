"""News articles with highlights, in the form of CNN/DailyMail's records, with three summaries each.

An article opens with a scene and a quotation that no summary mentions; its facts (who, what, where, how many,
what follows) come later, each in a sentence of its own, between remarks of bystanders. A summary joins the
facts in other constructions, so neither the first sentences nor the whole article is one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, names
from tools.corpora.drawing import words as split
from tools.corpora.generation.filling import SIZES, Records, distinct, fill, written

NAMES = names("articles", 500)
FIRST = split("Ada Ben Clara Dean Edith Frank Gina Henry Iris Jack Kate Leo Mary Ned Olive Paul Rose Sam")
DAYS = split("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
TIMES = ("before dawn", "at noon", "late in the evening", "shortly after midnight", "in the early hours")
SCENES = (
    "{first} {family} was making tea when the telephone rang {time}.",
    "it had been quiet for weeks, and nobody expected much of this one.",
    "for {first} {family} the day began like any other, with coffee and a walk.",
    "the lights were still on in the window of {first} {family}, who could not sleep.",
    "old people here like to say that nothing ever happens, and mostly they are right.",
)
QUOTES = (
    '"I have never seen anything like it," said {first} {family}, who lives around the corner.',
    '"We were all in the kitchen," said {first} {family}. "My son saw it first."',
    '"You read about such things," said {first} {family}, "but you never think it could be us."',
    '"My phone has not stopped ringing since," {first} {family} told reporters outside.',
)
REMARKS = (
    "children on their way to school stopped to look.",
    "a few neighbours stood in small groups and talked in low voices.",
    "somebody brought blankets, and somebody else brought soup.",
    "the weather had been mild, with hardly any wind.",
    "television crews from other parts of the country arrived in the afternoon.",
    "in the bakery people spoke of little else.",
    "a dog barked somewhere behind the houses, and then it was silent again.",
    "several shops stayed closed, though nobody had asked for it.",
)


@dataclass(frozen=True)
class Event:
    """A kind of event: the sentences of its facts, and summaries of them."""

    facts: tuple[tuple[str, ...], ...]
    summaries: tuple[str, ...]


EVENTS = {
    "storm": Event(
        (
            ("the roofs of {count} houses in {town} are gone, a count by volunteers shows.",),
            ("it was the wind that {day} brought over the hills, and trees lie across most roads.",),
            ("the mayor, {who}, wants every family housed by the end of the month.",),
            ("schools will not open for {days} days, teachers were informed.",),
        ),
        (
            "{day} storm destroys {count} roofs in {town}. Schools remain shut for {days} days, "
            "mayor {who} promises homes.",
            "storm on {day} destroys {count} roofs in {town}. Mayor {who} promises homes, schools "
            "remain shut for {days} days.",
            "{count} roofs destroyed in {town} by {day} storm. Schools remain shut for {days} days "
            "as mayor {who} promises homes.",
        ),
    ),
    "robbery": Event(
        (
            ("the vault of the savings bank in {town} stood open, with {count} thousand dollars missing.",),
            ("it must have been done on {day}, when the guard was ill.",),
            ("inspector {who} is looking for a green van.",),
            ("whoever helps her to find it can hope for {days} hundred dollars.",),
        ),
        (
            "thieves take ${count},000 from {town} bank on {day}. Police officer {who} seeks van, "
            "reward of ${days}00 offered.",
            "{town} bank loses ${count},000 to thieves on {day}. Reward of ${days}00 offered, police "
            "officer {who} seeks van.",
            "on {day} thieves take ${count},000 from {town} bank. Police officer {who} seeks van and "
            "offers reward of ${days}00.",
        ),
    ),
    "match": Event(
        (
            ("when the whistle blew on {day}, the board read {count} for the guests from {town}.",),
            ("their captain {who} had thrown the last basket with seconds to go.",),
            ("it was the {days}th time in a row that they left the floor as the better side.",),
            ("nobody is left between them and the title.",),
        ),
        (
            "{who} leads {town} to {days}th straight win on {day}, scoring {count} points. Team "
            "reaches final.",
            "{town} scores {count} points on {day} for {days}th straight win. Team led by {who} "
            "reaches final.",
            "team reaches final as {who} leads {town} to {days}th straight win with {count} points on {day}.",
        ),
    ),
    "factory": Event(
        (
            (
                "the gates of the old glass works in {town} will open again, {count} people will "
                "find a place there.",
            ),
            ("{who}, who once swept its floors, signed the papers on {day}.",),
            ("the ovens need {days} months until they are warm enough.",),
            ("the county lends a part of the money.",),
        ),
        (
            "{who} buys {town} factory on {day}, creating {count} jobs. Production starts in {days} months.",
            "{town} factory bought by {who} on {day}. Production starts in {days} months, creating "
            "{count} jobs.",
            "{count} jobs created as {who} buys {town} factory on {day}. Production starts in {days} months.",
        ),
    ),
    "rescue": Event(
        (
            ("the cave near {town} had filled with water on {day}, and {count} hikers could not get out.",),
            ("the diver {who} reached them with a rope after {days} hours.",),
            ("all of them could walk to the ambulance on their own.",),
            ("the entrance has been fenced since.",),
        ),
        (
            "diver {who} saves {count} hikers trapped in {town} cave on {day}. Rescue lasts {days} "
            "hours, nobody hurt.",
            "{count} hikers trapped in {town} cave on {day}, saved by diver {who}. Nobody hurt, "
            "rescue lasts {days} hours.",
            "nobody hurt as diver {who} saves {count} hikers trapped in {town} cave on {day}. Rescue "
            "lasts {days} hours.",
        ),
    ),
    "verdict": Event(
        (
            ("the judge spoke for less than a minute on {day}: {count} months for {who}.",),
            ("for years the treasurer of {town} had moved money of the hospital to a private account.",),
            ("the lawyers have {days} days to object, and they intend to.",),
            ("a nurse had noticed the missing sums.",),
        ),
        (
            "{who}, {town} official, jailed for {count} months over hospital fraud on {day}. Appeal "
            "due within {days} days.",
            "{town} official {who} jailed on {day} for {count} months over hospital fraud. Appeal "
            "due within {days} days.",
            "hospital fraud: {town} official {who} jailed for {count} months on {day}. Appeal due "
            "within {days} days.",
        ),
    ),
}


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
