"""The built-in statements: a seeded draw from both grammars, a fixed number from each construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from loquent.core.seeding import Key
from loquent.tasks.blocks.boards.random_edits import Subject
from tools.corpora.blocks import scatter, towers
from tools.corpora.blocks.words import Statement

SEED = 16
# How many statements of each construction are drawn. Constructions that exclude each other ("exactly two")
# are the most frequent, so that no fixed action sequence makes many statements true.
COUNTS: dict[str, dict[str, int]] = {
    "tower": {
        "exists": 480,
        "exactly": 560,
        "all": 460,
        "least": 100,
        "but_no": 420,
        "none": 110,
        "blocks": 170,
        "ends": 18,
        "ends_without": 36,
        "towers": 30,
    },
    "scatter": {
        "exists": 300,
        "exactly": 560,
        "least": 80,
        "none": 90,
        "all": 260,
        "only": 160,
        "boxes": 160,
        "boxes_with": 60,
        "box_of": 24,
        "and_no": 140,
        "and": 120,
        "more": 40,
        "same_box": 100,
        "box_without": 120,
        "touching": 120,
        "above": 80,
        "below": 80,
        "box_all": 18,
        "box_size": 13,
        "box_colors": 9,
        "box_shapes": 9,
    },
}
GRAMMARS: dict[str, Callable[[], Iterable[Statement]]] = {
    "tower": towers.statements,
    "scatter": scatter.statements,
}


@dataclass(frozen=True)
class Choice:
    """A drawn statement with one of its paraphrases; `number` counts the statements of an appearance."""

    number: int
    sentence: str
    program: str
    template: str
    about: tuple[Subject, ...]


@lru_cache(maxsize=2)
def statements(appearance: str) -> tuple[Choice, ...]:
    """The statements of an appearance, "tower" or "scatter"; equal in every process.

    All sentences and all programs are distinct.
    """
    constructions: dict[str, list[Statement]] = {}
    for statement in GRAMMARS[appearance]():
        constructions.setdefault(statement.template.partition(":")[0], []).append(statement)
    chosen_of: dict[str, Choice] = {}
    programs: set[str] = set()
    for name, count in COUNTS[appearance].items():
        rng = Key(SEED, ("blocks", appearance, name)).generator()
        chosen = 0
        for i in rng.permutation(len(constructions[name])):
            statement = constructions[name][i]
            sentence = statement.sentences[int(rng.integers(len(statement.sentences)))]
            if chosen < count and sentence not in chosen_of and statement.program not in programs:
                chosen_of[sentence] = Choice(
                    len(chosen_of), sentence, statement.program, statement.template, statement.about
                )
                programs.add(statement.program)
                chosen += 1
    return tuple(chosen_of.values())
