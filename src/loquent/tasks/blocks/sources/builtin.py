"""Rows of the built-in statements, split by statements or by whole templates."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import corpora
from loquent.data.sources import Splits
from loquent.data.tables.splits import SPLITS
from loquent.tasks.blocks.boards.board import EMPTY_BOARD, Board, Item

FOLDER = Path(__file__).parent


@lru_cache(maxsize=8)
def splits(appearance: str, start: str, held_out: str) -> Splits:
    """All rows by split; equal in every process.

    From scratch, a statement gives one row, `APPEARANCE-NUMBER`. With start "flip_it" it gives two rows whose
    boards differ in the truth value, `APPEARANCE-NUMBER-0` and `-1`; a few statements without such boards
    give none.

    Args:
        held_out: "statements" or "templates".
    """
    rows: dict[str, list[Row]] = {split: [] for split in SPLITS}
    for number, statement in enumerate(statements(appearance)):
        id = f"{appearance}-{number}"
        members = _from_scratch(id, statement) if start == "scratch" else flips(id, statement)
        rows[statement[held_out]] += members
    return {split: tuple(members) for split, members in rows.items()}


def unsolvable(appearance: str, start: str) -> frozenset[str]:
    """The ids of the rows whose target no board within ten edits has; each flip-it row can be solved."""
    if start == "flip_it":
        return frozenset()
    numbered = enumerate(statements(appearance))
    return frozenset(f"{appearance}-{number}" for number, statement in numbered if not statement["solvable"])


@lru_cache(maxsize=2)
def statements(appearance: str) -> list[dict[str, Any]]:
    """The statements of an appearance by number, as `tools/corpora/blocks/corpus.py` describes them."""
    return corpora.records(FOLDER / f"{appearance}.json.xz")["statements"]


def _from_scratch(id: str, statement: dict[str, Any]) -> Iterator[Row]:
    yield Row(id, _fields(statement, True, EMPTY_BOARD))


def flips(id: str, statement: dict[str, Any]) -> Iterator[Row]:
    """A row for each of the two boards, in a random order."""
    for i, board in enumerate(statement["boards"] or ()):
        left, middle, right = (tuple(Item(*item) for item in box) for box in board)
        yield Row(f"{id}-{i}", _fields(statement, statement["first"] == bool(i), (left, middle, right)))


def _fields(statement: dict[str, Any], target: bool, board: Board) -> Record:
    return Record(
        sentence=statement["sentence"],
        program=statement["program"],
        target=target,
        board=board,
        template=statement["template"],
    )
