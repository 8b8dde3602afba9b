"""Sets of concepts with sentences, in the form of CommonGen's files.

A set is a doer, a deed, a thing and a place, a third of the sets with a tool or a companion too, in a random
order. Its four sentences use all of them in other orders and constructions, and say how
the deed is usually done, which the set does not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tools.corpora.drawing import Draws, words
from tools.corpora.generation.filling import SIZES, Records, distinct, written

DOERS = words(
    "boy girl woman man child farmer teacher sailor nurse baker gardener dancer soldier painter singer "
    "tailor tourist student father mother worker clown monk goalkeeper fisherman carpenter"
)
PLACES = {
    "park": "in",
    "field": "in",
    "kitchen": "in",
    "garden": "in",
    "street": "on",
    "beach": "on",
    "stage": "on",
    "market": "at",
    "harbor": "at",
    "station": "at",
    "school": "at",
    "barn": "in",
    "forest": "in",
    "roof": "on",
    "bridge": "on",
    "yard": "in",
    "workshop": "in",
    "tent": "in",
    "lake": "at",
    "hall": "in",
}
# base, third person, -ing, participle: things
DEEDS = {
    ("throw", "throws", "throwing", "thrown"): words("ball stone stick rope frisbee hat pillow"),
    ("carry", "carries", "carrying", "carried"): words("basket ladder bag bucket chair lamp sack"),
    ("paint", "paints", "painting", "painted"): words("wall fence boat portrait door bench sign"),
    ("wash", "washes", "washing", "washed"): words("dog car shirt window plate horse cup"),
    ("build", "builds", "building", "built"): words("wall boat shelf tower fence table kite"),
    ("repair", "repairs", "repairing", "repaired"): words("bike roof clock boat engine shoe radio"),
    ("cut", "cuts", "cutting", "cut"): words("bread rope branch paper cake hair cloth"),
    ("sell", "sells", "selling", "sold"): words("fish apple flower carpet hat newspaper melon"),
    ("drop", "drops", "dropping", "dropped"): words("plate key coin letter egg camera glove"),
    ("hide", "hides", "hiding", "hidden"): words("letter coin bone box key gift map"),
    ("lift", "lifts", "lifting", "lifted"): words("box stone barrel crate log wheel trunk"),
    ("push", "pushes", "pushing", "pushed"): words("cart swing sled stroller barrel bike piano"),
    ("watch", "watches", "watching", "watched"): words("bird parade game sunset fire race puppet"),
    ("feed", "feeds", "feeding", "fed"): words("cat goat duck horse chicken rabbit parrot"),
    ("clean", "cleans", "cleaning", "cleaned"): words("floor boot brush statue oven mirror cage"),
}
# base: how it is usually done, words that every sentence of the deed has
WAYS = {
    "throw": "high into the air",
    "carry": "on one shoulder",
    "paint": "in bright colors",
    "wash": "using soap and warm water",
    "build": "out of old planks",
    "repair": "before it gets dark",
    "cut": "into very small pieces",
    "sell": "for just three coins",
    "drop": "because of a loud noise",
    "hide": "so that nobody finds it",
    "lift": "using both hands",
    "push": "as fast as possible",
    "watch": "until it is over",
    "feed": "twice every day",
    "clean": "until it shines",
}
WITH = {"tool": words("hammer brush knife bucket sponge net shovel"), "friend": words("friend brother uncle")}
PLAIN = (
    "a {doer} {does} a {thing} {way} {at} the {place}.",
    "the {doer} is {doing} the {thing} {way} {at} the {place}.",
    "{at} the {place}, the {doer} {does} a {thing} {way}.",
    "the {thing} is {done} {way} by the {doer} {at} the {place}.",
    "a {doer} {at} the {place} {does} the {thing} {way}.",
    "{at} the {place} a {doer} is {doing} a {thing} {way}.",
)
LONG = (
    "a {doer} with a {more} {does} a {thing} {way} {at} the {place}.",
    "the {doer} with the {more} is {doing} the {thing} {way} {at} the {place}.",
    "{at} the {place}, the {doer} with a {more} {does} a {thing} {way}.",
    "with a {more}, a {doer} {does} the {thing} {way} {at} the {place}.",
    "the {thing} is {done} {way} by a {doer} with a {more} {at} the {place}.",
)
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
