"""The built-in statements of blocks, with splits, first boards, and whether they can be solved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from loquent.core.seeding import Key
from loquent.data.tables.splits import draw_of
from loquent.tasks.blocks import solvable
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Board
from loquent.tasks.blocks.programs.program import compile_program
from tools.corpora.blocks import boards, statements
from tools.corpora.blocks.statements import SEED, Choice

SHARES = {"test": 0.2, "validation": 0.1}  # of the statements or of the templates
KEPT = 3  # training templates with each part of a template that is held out


def records(appearance: str, every: int = 1) -> Iterator[dict[str, Any]]:
    """The record of each statement, or of every so many.

    `statements` and `templates` are its split by what is held out, `boards` two boards with different truth
    values or None, `first` the value on the first, and `solvable` whether some board makes it true.
    """
    chosen = statements.statements(appearance)
    split_of = split_by_template(chosen)
    for each in chosen[::every]:
        pair = boards_of(each, appearance)
        yield {
            "sentence": each.sentence,
            "program": each.program,
            "template": each.template,
            "statements": split_of_draw(draw_of(each.program)),
            "templates": split_of[each.template],
            "boards": pair,
            "first": None if pair is None else bool(compile_program(each.program).compute(pair[0])),
            "solvable": is_solvable(each, appearance),
        }


def boards_of(statement: Choice, appearance: str) -> tuple[Board, Board] | None:
    """Two boards on which a statement has different truth values; None if none are found."""
    truth = compile_program(statement.program).compute
    draw = boards.Draw(Key(SEED, ("blocks", "boards", appearance, statement.number)))
    return boards.pair(appearance, statement.about, truth, draw)


def is_solvable(statement: Choice, appearance: str) -> bool:
    """Whether a board makes a statement true: exact for towers, a search for scattered items."""
    return solvable.solution(statement.program, True, EMPTY_BOARD, appearance).edits is not None


def split_of_draw(uniform: float) -> str:
    """The split of a statement by a number in [0, 1)."""
    if uniform < SHARES["test"]:
        return "test"
    return "validation" if uniform < SHARES["test"] + SHARES["validation"] else "train"


def split_by_template(statements: Iterable[Choice]) -> dict[str, str]:
    """The split of each template, by a hash of it.

    A template is held out only while its construction and its properties each occur in `KEPT` other templates
    of training, so that held-out statements combine known parts in new ways.
    """
    templates = sorted({statement.template for statement in statements}, key=draw_of)
    left = Counter(part for template in templates for part in parts(template))
    split_of = dict.fromkeys(templates, "train")
    wanted = {split: round(share * len(templates)) for split, share in SHARES.items()}
    for template in templates:
        split = next((split for split, count in wanted.items() if count), None)
        if split and all(left[part] > KEPT for part in parts(template)):
            split_of[template] = split
            wanted[split] -= 1
            left.subtract(parts(template))
    return split_of


def parts(template: str) -> tuple[str, ...]:
    """The construction of a template, and the properties in it."""
    construction, _, properties = template.partition(":")
    return (f"{construction}:", *properties.replace("@", "+").split("+"))
