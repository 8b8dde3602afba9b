"""Sets of concepts with sentences, in the form of CommonGen's files.

A set is a doer, a deed, a thing and a place, a third of the sets with a tool or a companion too, in a random
order. Its four sentences use all of them in other orders and constructions, and say how
the deed is usually done, which the set does not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, tables, words
from tools.corpora.generation.filling import SIZES, Records, distinct, written

TABLES = tables("concept_sets")
DOERS = TABLES["doers"]
PLACES = TABLES["places"]
# base, third person, -ing, participle: things
DEEDS = {tuple(forms.split()): things for forms, things in TABLES["deeds"].items()}
# base: how it is usually done, words that every sentence of the deed has
WAYS = TABLES["ways"]
WITH = {"tool": words("hammer brush knife bucket sponge net shovel"), "friend": words("friend brother uncle")}
PLAIN = TABLES["plain"]
LONG = TABLES["long"]
SENTENCES = 4


@lru_cache(maxsize=1)
def records() -> Records:
    """The records of all splits, `concept_set` and `scene`; no two have the same set."""
    return distinct("concepts", _write, SIZES)


def _write(draw: Draws, split: str) -> tuple[frozenset[str], dict[str, Any]]:
    forms = draw.choice(tuple(DEEDS))
    chosen = {"doer": draw.choice(DOERS), "deed": forms[0], "thing": draw.choice(DEEDS[forms])}
    chosen["place"] = draw.choice(tuple(PLACES))
    if draw.below(1 / 3):
        chosen["more"] = draw.choice(WITH[draw.choice(tuple(WITH))])
    filling = dict(zip(("deed", "does", "doing", "done"), forms, strict=True)) | chosen
    filling |= {"at": PLACES[chosen["place"]], "way": WAYS[forms[0]]}
    scene = written(draw, LONG if "more" in chosen else PLAIN, SENTENCES, filling)
    concepts = draw.sample(tuple(chosen.values()), len(chosen))
    return frozenset(concepts), {"concept_set": "#".join(concepts), "scene": scene}
