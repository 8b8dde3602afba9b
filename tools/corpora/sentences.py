"""Built-in sentences with named entities (BIO), from a seeded grammar.

A name alone does not decide its label. The same name is a person, a place, a part of an organisation's name,
or a part of a cup's name. The words before it ("in", "Mr", "shares of") or after it ("said", "Bank", "Cup")
decide. A quarter of the names in validation and test never occur in train.
"""

from __future__ import annotations

from functools import lru_cache

from loquent.core.values import Record
from loquent.data.sources import Splits
from tools.corpora.drawing import Draws, disjoint, names, words

SIZES = {"train": 3000, "validation": 500, "test": 500}
KNOWN, NEW = 240, 80  # names that occur in train, and names that do not
UNSEEN = 0.25  # the share of such names in validation and test

FIRST = words(
    "Anna Boris Carla David Elena Farid Grace Hugo Ines Jonas Karim Laura Mina Noel Olga Pavel Rosa "
    "Simon Tara Victor"
)
PERSONS = ("Mr {n}", "Dr {n}", "Ms {n}", "{f} {n}", "{f} {n}", "{n}")
PLACES = ("{n}", "{n}", "Port {n}", "{n} City", "North {n}")
GROUPS = ("{n} Bank", "{n} Corp", "{n} United", "University of {n}", "{n}", "{n}")
THINGS = ("{n} Cup", "{n} Open", "{n} Treaty")

# {p} {l} {g} {m}: a person, a location, a group, something else. The words beside a bare name decide its
# kind.
SENTENCES = (
    "{p} said on {d} that prices would {v} .",
    "{p} told reporters in {l} that talks had failed .",
    "the mayor of {l} met {p} on {d} .",
    "shares of {g} {v} by {c} percent .",
    "shares of {g} {v} after {p} said he would resign .",
    "{p} joined {g} on {d} .",
    "{p} won the {m} in {l} on {d} .",
    "{c} people were hurt near {l} .",
    "a train from {l} to {l} was late on {d} .",
    "profits of {g} {v} , {p} said .",
    "the {m} begins in {l} on {d} .",
    "on {d} shares of {g} and of {g} {v} .",
    "he flew from {l} and met {p} .",
    "{p} lost the {m} to {p} .",
    "police in {l} said that {c} men were held .",
    "prices in {l} {v} on {d} .",
    "nobody was hurt on {d} .",
    "it was late , and talks had failed .",
)
WORDS = {
    "d": words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    "v": words("rise fall rose fell recover drop gain slip"),
    "c": words("3 5 7 12 20 36 48 90"),
}
ENTITIES = {"p": ("PER", PERSONS), "l": ("LOC", PLACES), "g": ("ORG", GROUPS), "m": ("MISC", THINGS)}


@lru_cache(maxsize=1)
def splits() -> Splits:
    """All sentences by split; equal in every process. No sentence stands in two splits."""
    known, new = names("sentences", KNOWN + NEW)[:KNOWN], names("sentences", KNOWN + NEW)[KNOWN:]

    def sentence(draw: Draws, split: str) -> Record:
        return _sentence(draw, known, new, 0.0 if split == "train" else UNSEEN)

    return disjoint("sentences", SIZES, sentence)


def _sentence(draw: Draws, known: list[str], new: list[str], unseen: float) -> Record:
    tokens: list[str] = []
    labels: list[str] = []
    for piece in draw.choice(SENTENCES).split(" "):
        slot = piece[1:-1]
        if slot in ENTITIES and piece.startswith("{"):
            kind, forms = ENTITIES[slot]
            name = draw.choice(new if draw.below(unseen) else known)
            entity = draw.choice(forms).format(n=name, f=draw.choice(FIRST)).split(" ")
            tokens += entity
            labels += [f"B-{kind}", *[f"I-{kind}"] * (len(entity) - 1)]
        else:
            tokens.append(draw.choice(WORDS[slot]) if piece.startswith("{") else piece)
            labels.append("O")
    return Record(tokens=tuple(tokens), labels=tuple(labels))
