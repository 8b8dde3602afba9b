"""Made paragraphs with questions: what people of a village own and do, by a seeded grammar.

A paragraph has 25 facts, one in a sentence: a thing of a person with a value, with a time and a witness.
Every person and every thing stands in five sentences, every time and witness in about as many. A question
names a person, a thing, a time and a witness. Only the answer's sentence has both the person and the thing;
the time and the witness stand in other sentences. So single searches and fixed scripts often miss the answer,
and a reader who compares a sentence with the question finds it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.sources import Splits
from tools.corpora.drawing import Draws, names, tables

PARAGRAPHS = {"train": 320, "validation": 60, "test": 80}
QUESTIONS = 5  # for each paragraph
PEOPLE, THINGS, TIMES, WITNESSES = 5, 5, 5, 5  # of one paragraph
FACTS = PEOPLE * THINGS
POOL = 120  # names of people, shared by all splits, so that a word-level network knows them


class Thing(NamedTuple):
    """A thing, with its verb in a sentence and in a question, and the kind of its values."""

    noun: str
    verb: str
    asks: str  # with {of}: the thing and its owner
    values: str


TABLES = tables("villages")
THINGS_OF_ALL = tuple(Thing(*line.split("|")) for line in TABLES["things"])
_ADJECTIVES = TABLES["adjectives"]
_NOUNS = TABLES["nouns"]
_TIMES = TABLES["times"]
_WITNESSES = TABLES["witnesses"]
_SENTENCES = TABLES["sentences"]
_QUESTIONS = TABLES["questions"]
_OWNERS = ("the {thing} of {person}", "{person}'s {thing}")


class Fact(NamedTuple):
    """One sentence: who, what, the value, when, and who says so."""

    person: str
    thing: Thing
    value: str
    time: str
    witness: str


def splits() -> Splits:
    """The rows of all splits, equal in every process; each split has a stream of its own."""
    people = names("reading", POOL)
    rows: Splits = {}
    for split, count in PARAGRAPHS.items():
        stream, members = Draws("reading", split), []
        for number in range(count):
            facts = _facts(stream, people)
            texts = [_sentence(stream, fact) for fact in facts]
            context = " ".join(f"{text}." for text in texts)
            for i in sorted(stream.sample(range(FACTS), QUESTIONS)):
                fields = _row(stream, context, facts, i)
                members.append(Row(f"{split}-{number}-{i}", fields))
        rows[split] = tuple(members)
    return rows


def _facts(stream: Draws, people: list[str]) -> list[Fact]:
    """The facts of a paragraph in a random order: each thing of each person."""
    persons, things = stream.sample(people, PEOPLE), stream.sample(THINGS_OF_ALL, THINGS)
    times, witnesses = stream.sample(_TIMES, TIMES), stream.sample(_WITNESSES, WITNESSES)
    cells = [(i, j) for i in range(PEOPLE) for j in range(THINGS)]
    used: set[str] = set()
    facts = []
    for i, j in stream.sample(cells, len(cells)):
        thing = things[j]
        value = _value(stream, thing.values)
        while value in used:  # a value never stands in two sentences
            value = _value(stream, thing.values)
        used.add(value)
        facts.append(Fact(persons[i], thing, value, stream.choice(times), stream.choice(witnesses)))
    return facts


def _value(stream: Draws, kind: str) -> str:
    if kind == "years":
        return str(1100 + int(stream.uniform() * 800))
    if kind == "sums":
        return f"{11 + int(stream.uniform() * 980)} coins"
    return f"{stream.choice(_ADJECTIVES[kind])} {stream.choice(_NOUNS[kind])}"


def _sentence(stream: Draws, fact: Fact) -> str:
    owner = stream.choice(_OWNERS).format(thing=fact.thing.noun, person=fact.person)
    text = stream.choice(_SENTENCES).format(
        of=owner, verb=fact.thing.verb, value=fact.value, time=fact.time, witness=fact.witness
    )
    return text[0].upper() + text[1:]


def _row(stream: Draws, context: str, facts: list[Fact], i: int) -> Record:
    """A question about a fact; its time and witness are those of other facts."""
    fact = facts[i]
    times = sorted({other.time for other in facts} - {fact.time}) or [fact.time]
    witnesses = sorted({other.witness for other in facts} - {fact.witness}) or [fact.witness]
    owner = stream.choice(_OWNERS).format(thing=fact.thing.noun, person=fact.person)
    question = stream.choice(_QUESTIONS).format(
        asks=fact.thing.asks.format(of=owner), time=stream.choice(times), witness=stream.choice(witnesses)
    )
    fields: dict[str, Any] = {
        "context": context,
        "places": (),
        "tokenised": False,
        "question": question[0].upper() + question[1:],
        "answers": (fact.value,),
        "starts": (context.index(f" {fact.value}") + 1,),
    }
    return Record(fields)
