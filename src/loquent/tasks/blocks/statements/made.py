"""What takes long to compute of the built-in statements, made once: boards of flip-it rows, and solvability.

`python -m loquent.tasks.blocks.statements.made FILE` computes `made.npz` again from the statements; then set
`SHA256`. A test fails where the code that computes it has changed since (`source_digest`).
"""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.errors import LoquentError
from loquent.tasks.blocks import board as board_module
from loquent.tasks.blocks import programs, rules, solvable
from loquent.tasks.blocks.board import EMPTY_BOARD, Board, Item
from loquent.tasks.blocks.geometry import tables
from loquent.tasks.blocks.programs.program import compile_program
from loquent.tasks.blocks.statements import boards, drawn

FILE = Path(__file__).with_name("made.npz")
SHA256 = "8d95f29377e7467908a8b218e3cecf150f161f39b47647448035ff20377617f0"

Pair = tuple[Board, Board]


class Made:
    """The contents of the file for an appearance.

    Attributes:
        pairs: two boards of a statement, by its number; the few statements without such boards are absent.
        first: the truth values on the first boards, by the number; the second has the other value.
        unsolvable: the numbers of the statements that no board within ten edits of the empty one makes true.

    Raises:
        LoquentError: the file is damaged, or belongs to other statements or constants.
    """

    def __init__(self, appearance: str) -> None:
        found = hashlib.sha256(FILE.read_bytes()).hexdigest()
        if found != SHA256:
            raise LoquentError(
                f"{FILE} has the SHA-256 {found[:12]}, not {SHA256[:12]}; install the package again"
            )
        with np.load(FILE, allow_pickle=False) as file:
            numbers, first, counts, items, unsolvable, digest = (
                file[f"{appearance}_{name}"]
                for name in ("numbers", "first", "counts", "items", "unsolvable", "digest")
            )
        if digest.tobytes() != _digest(appearance):
            raise LoquentError(f"{FILE} belongs to other statements; install the package again")
        rest = iter([Item(*fields) for fields in items.tolist()])
        filled = [[tuple(next(rest) for _ in range(n)) for n in board] for board in counts.tolist()]
        made: list[Board] = [(left, middle, right) for left, middle, right in filled]
        self.pairs: dict[int, Pair] = dict(zip(numbers.tolist(), zip(made[::2], made[1::2])))
        self.first: dict[int, bool] = dict(zip(numbers.tolist(), first.tolist()))
        self.unsolvable = frozenset(unsolvable.tolist())


made = lru_cache(maxsize=2)(Made)


def pair(statement: drawn.Drawn, appearance: str) -> Pair | None:
    """The boards of a statement, computed; None if none are found."""
    truth = compile_program(statement.program).compute
    draw = boards.Draw(Key(drawn.SEED, ("blocks", "boards", appearance, statement.number)))
    return boards.pair(appearance, statement.about, truth, draw)


def is_unsolvable(statement: drawn.Drawn, appearance: str) -> bool:
    """Whether no board makes a statement true, computed: exact for towers, a search for scattered items."""
    return solvable.solution(statement.program, True, EMPTY_BOARD, appearance).edits is None


def make(appearance: str) -> dict[str, NDArray[np.generic]]:
    """The arrays of the file for an appearance."""
    statements = drawn.statements(appearance)
    pairs = {each.number: found for each in statements if (found := pair(each, appearance))}
    of_number = {each.number: compile_program(each.program) for each in statements}
    every = [board for found in pairs.values() for board in found]
    unsolvable = [each.number for each in statements if is_unsolvable(each, appearance)]
    return {
        f"{appearance}_numbers": np.array(list(pairs), dtype=np.uint16),
        f"{appearance}_first": np.array([of_number[n](found[0]) for n, found in pairs.items()]),
        f"{appearance}_counts": np.array([[len(box) for box in board] for board in every], dtype=np.uint8),
        f"{appearance}_items": np.array([i for board in every for box in board for i in box], dtype=np.uint8),
        f"{appearance}_unsolvable": np.array(unsolvable, dtype=np.uint16),
        f"{appearance}_digest": np.frombuffer(_digest(appearance), dtype=np.uint8),
    }


def source_files() -> list[Path]:
    """The files of the code that the boards and the solvability depend on, besides the statements."""
    language = sorted(Path(programs.__path__[0]).glob("*.py"))
    others = (board_module, rules, boards, solvable)
    return [*language, *(Path(str(each.__file__)) for each in others)]


def source_digest(files: Iterable[Path]) -> str:
    """The SHA-256 of the syntax trees of Python files, without comments and docstrings."""
    digest = hashlib.sha256()
    for file in files:
        tree = ast.parse(file.read_bytes())
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
                node.body = node.body[1:]
        digest.update(f"{file.name}\n{ast.unparse(tree)}\n".encode())
    return digest.hexdigest()


def _digest(appearance: str) -> bytes:
    """The SHA-256 of the statements, of what they are about, of constants, and of the tables of geometry."""
    constants = (
        (drawn.SEED, boards.TRIES, boards.STEPS, boards.CELL, boards.FITTING, tables.SHA256),
        (boards.MOST_ITEMS, boards.FEW_ITEMS, solvable.EDITS, solvable.TRIED, solvable.REMOVED),
    )
    statements = [(each.number, each.program, each.about) for each in drawn.statements(appearance)]
    return hashlib.sha256(repr((constants, statements)).encode()).digest()


if __name__ == "__main__":
    source = np.frombuffer(bytes.fromhex(source_digest(source_files())), dtype=np.uint8)
    arrays: dict[str, Any] = {**make("tower"), **make("scatter"), "source": source}
    np.savez_compressed(sys.argv[1], **arrays)
