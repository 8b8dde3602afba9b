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
from tools.corpora.drawing import Draws, names, words

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


_THINGS = """
workshop|makes|what does {of} make|goods
garden|grows|what does {of} grow|plants
boat|carries|what does {of} carry|goods
shop|sells|what does {of} sell|goods
stall|offers|what does {of} offer|food
shield|shows|what does {of} show|beasts
banner|bears|what does {of} bear|beasts
song|praises|whom does {of} praise|beasts
orchard|feeds|whom does {of} feed|beasts
cellar|holds|what does {of} hold|food
school|teaches|what does {of} teach|arts
guild|honours|what does {of} honour|arts
well|was dug in|when was {of} dug|years
barn|burned down in|when did {of} burn down|years
bridge|was built in|when was {of} built|years
debt|amounts to|how much is {of}|sums
dowry|came to|how much was {of}|sums
house|stands near|where does {of} stand|places
field|lies behind|where does {of} lie|places
chapel|looks over|what does {of} look over|places
coat|is lined with|what is {of} lined with|cloths
curtain|was sewn from|what was {of} sewn from|cloths
ring|is set with|what is {of} set with|stones
crown|glitters with|what does {of} glitter with|stones
daughter|plays|what does {of} play|tools
uncle|repairs|what does {of} repair|tools
"""
THINGS_OF_ALL = tuple(Thing(*line.split("|")) for line in _THINGS.strip().splitlines())
_ADJECTIVES = {
    "goods": words("copper silver wooden woollen painted broken tiny heavy green red"),
    "plants": words("yellow bitter tall sweet wild early purple thorny winter pale"),
    "food": words("salted smoked sour fresh dried sweet spiced stale roasted pickled"),
    "beasts": words("grey golden lame blind proud sleeping white angry spotted young"),
    "arts": words("old sacred simple courtly foreign secret noble rare military common"),
    "places": words("northern ruined narrow quiet stone frozen hidden crooked upper sandy"),
    "cloths": words("blue plain coarse fine scarlet faded striped soft black heavy"),
    "stones": words("polished dark clear false cracked bright green cloudy violet small"),
    "tools": words("tuneless ivory bronze long leaking gilded oaken rusty silver short"),
}
_NOUNS = {
    "goods": words("bells kettles candles saddles ropes baskets lanterns barrels nails combs"),
    "plants": words("tulips leeks turnips roses beans herbs lilies cabbages nettles poppies"),
    "food": words("herrings plums cheeses onions loaves hams figs eels walnuts mushrooms"),
    "beasts": words("lions goats geese bulls hounds ravens foxes mules bees swans"),
    "arts": words("grammar music fencing algebra medicine dancing law painting astronomy rhetoric"),
    "places": words("gate river square quarry wall forest mill lake road cliff"),
    "cloths": words("linen silk velvet wool fur cotton felt lace canvas satin"),
    "stones": words("pearls rubies opals garnets crystals emeralds amber sapphires topazes beryls"),
    "tools": words("flutes drums harps pumps clocks ploughs bellows organs looms violins"),
}
_TIMES = words(
    "flood drought storm siege comet harvest fair wedding earthquake election winter eclipse parade famine "
    "thaw feast regatta fire council census"
)
_WITNESSES = words(
    "miller priest baker clerk widow ferryman smith judge tailor cook shepherd doctor mayor sexton barber "
    "potter weaver porter notary hermit"
)
_SENTENCES = (
    "After the {time}, {of} {verb} {value}, as the {witness} remembers",
    "The {witness} wrote after the {time} that {of} {verb} {value}",
    "According to the {witness}, {of} {verb} {value} since the {time}",
    "Since the {time}, says the {witness}, {of} {verb} {value}",
)
_QUESTIONS = (
    "After the {time}, the {witness} asked: {asks}?",
    "{asks}, the {witness} asked after the {time}?",
    "The {witness} wondered since the {time}, {asks}?",
    "{asks}, if the {witness} may ask after the {time}?",
    "Since the {time}, {asks}, the {witness} wants to know?",
)
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
