"""Built-in sentences with named entities (BIO), from a seeded grammar.

A name alone does not decide its label. The same name is a person, a place, a part of an organisation's name,
or a part of a cup's name. The words before it ("in", "Mr", "shares of") or after it ("said", "Bank", "Cup")
decide. A quarter of the names in validation and test never occur in train.
"""

from __future__ import annotations

from functools import lru_cache

from loquent.core.values import Record
from loquent.data.sources import Splits
from tools.corpora.drawing import Draws, disjoint, names, tables

SIZES = {"train": 3000, "validation": 500, "test": 500}
KNOWN, NEW = 240, 80  # names that occur in train, and names that do not
UNSEEN = 0.25  # the share of such names in validation and test

TABLES = tables("sentences")
FIRST = TABLES["first"]
PERSONS = ("Mr {n}", "Dr {n}", "Ms {n}", "{f} {n}", "{f} {n}", "{n}")
PLACES = ("{n}", "{n}", "Port {n}", "{n} City", "North {n}")
GROUPS = ("{n} Bank", "{n} Corp", "{n} United", "University of {n}", "{n}", "{n}")
THINGS = ("{n} Cup", "{n} Open", "{n} Treaty")

# {p} {l} {g} {m}: a person, a location, a group, something else. The words beside a bare name decide its
# kind.
SENTENCES = TABLES["sentences"]
WORDS = TABLES["words"]
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
