"""The built-in statements: a seeded draw from both grammars, a fixed number from each construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from loquent.core.seeding import Key
from loquent.tasks.blocks.boards.random_edits import Subject
from tools.corpora.blocks import scatter, towers
from tools.corpora.blocks.words import Statement
from tools.corpora.drawing import tables

SEED = 16
# How many statements of each construction are drawn. Constructions that exclude each other ("exactly two")
# are the most frequent, so that no fixed action sequence makes many statements true.
COUNTS: dict[str, dict[str, int]] = tables("statements")
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
