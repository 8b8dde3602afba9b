"""Rows of the built-in statements, split by statements or by whole templates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.sources import SPLITS, Splits, draw_of
from loquent.tasks.blocks.board import EMPTY_BOARD, Board
from loquent.tasks.blocks.statements import drawn, made
from loquent.tasks.blocks.statements.drawn import Drawn

SHARES = {"test": 0.2, "validation": 0.1}  # of the statements or of the templates
KEPT = 3  # training templates with each part of a template that is held out


@lru_cache(maxsize=8)
def splits(appearance: str, start: str, held_out: str) -> Splits:
    """All rows by split; equal in every process.

    From scratch, a statement gives one row, `APPEARANCE-NUMBER`. With start "flip_it" it gives two rows whose
    boards differ in the truth value, `APPEARANCE-NUMBER-0` and `-1`; a few statements without such boards
    give none.
    """
    statements = drawn.statements(appearance)
    split_of = split_by_template(statements) if held_out == "templates" else {}
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for statement in statements:
        split = split_of.get(statement.template) or _split(draw_of(statement.program))
        rows[split] += (
            _from_scratch(statement, appearance) if start == "scratch" else _flips(statement, appearance)
        )
    return {split: tuple(members) for split, members in rows.items()}


def _from_scratch(statement: Drawn, appearance: str) -> Iterator[Row]:
    yield Row(f"{appearance}-{statement.number}", _fields(statement, True, EMPTY_BOARD))


def _flips(statement: Drawn, appearance: str) -> Iterator[Row]:
    """A row for each of the two boards, in a random order."""
    known = made.made(appearance)
    for i, board in enumerate(known.pairs.get(statement.number, ())):
        target = known.first[statement.number] == bool(i)
        yield Row(f"{appearance}-{statement.number}-{i}", _fields(statement, target, board))


def unsolvable(appearance: str, start: str) -> frozenset[str]:
    """The ids of the rows whose target no board within ten edits has; each flip-it row can be solved."""
    if start == "flip_it":
        return frozenset()
    return frozenset(f"{appearance}-{number}" for number in made.made(appearance).unsolvable)


def _fields(statement: Drawn, target: bool, board: Board) -> Record:
    return Record(
        sentence=statement.sentence,
        program=statement.program,
        target=target,
        board=board,
        template=statement.template,
    )


def _split(uniform: float) -> str:
    if uniform < SHARES["test"]:
        return "test"
    return "validation" if uniform < SHARES["test"] + SHARES["validation"] else "train"


def split_by_template(statements: Iterable[Drawn]) -> dict[str, str]:
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
