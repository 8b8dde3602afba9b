"""Built-in questions with four to eight choices; two facts together give the answer, as in QASC.

The creatures are invented, and each question draws the habits of a kind again. A model therefore cannot
memorise answers: they follow from the facts alone. In a third of the questions a third fact names a wrong
choice.
"""

from __future__ import annotations

from functools import lru_cache

from loquent.core.values import Record
from loquent.data.sources import Splits
from tools.corpora.drawing import Draws, disjoint, names, tables, words

SIZES = {"train": 3000, "validation": 500, "test": 500}
MISLEADING = 1 / 3
KINDS = words("bird fish insect lizard rodent spider whale worm")
TABLES = tables("questions")
THINGS = TABLES["things"]
CHOICES = (4, 5, 6, 8)
IDS = "ABCDEFGH"


@lru_cache(maxsize=1)
def splits() -> Splits:
    """All questions by split; equal in every process. No question stands in two splits."""
    creatures = [name.lower() for name in names("questions", 400)]
    return disjoint("questions", SIZES, lambda draw, split: _question(draw, creatures))


def _question(draw: Draws, creatures: list[str]) -> Record:
    creature, verb = draw.choice(creatures), draw.choice(tuple(THINGS))
    kind, other = draw.sample(KINDS, 2)
    choices = draw.sample(THINGS[verb], draw.choice(CHOICES))
    right, wrong = draw.sample(range(len(choices)), 2)
    facts = [f"A {creature} is a {kind}.", f"Every {kind} will {verb} {choices[right]}."]
    if draw.below(MISLEADING):
        facts.append(f"Every {other} will {verb} {choices[wrong]}.")
    where = "What does" if not verb.endswith(" in") else "Where does"
    question = f"{where} a {creature} {verb.removesuffix(' in')}?"
    return Record(
        question=question,
        facts=tuple(draw.sample(facts, len(facts))),
        choices=tuple(choices),
        ids=tuple(IDS[: len(choices)]),
        answer=IDS[right],
    )
