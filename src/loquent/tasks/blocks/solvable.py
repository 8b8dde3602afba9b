"""Which rows can be solved, and with how few edits; which are solved before the first edit.

For towers the answer is exact: all boards within the edits of an episode are tried, the nearest first.
Scattered items have too many boards. There, a seeded search tries boards with the items that the program
names; what it does not find may still exist. A later board on which a program has no value, such as `unique`
of two items, does not have the target value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations_with_replacement, product, takewhile
from operator import itemgetter

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.errors import ProgramBudgetError, ProgramError
from loquent.tasks.blocks.boards import random_edits, rules
from loquent.tasks.blocks.boards.board import COLORS, EMPTY_BOARD, SHAPES, TOWER_Y, Board, Box, tower_block
from loquent.tasks.blocks.boards.random_edits import PLACES, Draw, Subject
from loquent.tasks.blocks.programs.grammar import parse
from loquent.tasks.blocks.programs.program import Program, compile_program

EDITS = 10  # of a published episode, besides the stop
TRIED = 20_000  # boards that the search for scattered items tries
REMOVED = 0.3  # the share of removals in its edits, where the first board has items

PROPERTIES = ("color", "size", "shape")
ORDERED = frozenset({"min", "equal", *(f"{name}_{of}" for name in ("equal", "query") for of in PROPERTIES)})

Reached = Callable[[Board], bool]  # whether a board has the target value


@dataclass(frozen=True)
class Solution:
    """How near the nearest board with the target value is.

    Attributes:
        edits: the number of edits; None where no board was found.
        exact: whether no board with fewer edits exists, or none at all.
    """

    edits: int | None
    exact: bool


def is_trivial(row: Row) -> bool:
    """Whether the first board has the target value, so that stopping at once succeeds."""
    return compile_program(row["program"]).compute(row["board"]) == row["target"]


def is_unsolvable(row: Row, appearance: str, most: int = EDITS) -> bool:
    """Whether no board within `most` edits has the target value.

    For towers this is proved; for scattered items, no board was found.
    """
    return solution(row["program"], row["target"], row["board"], appearance, most).edits is None


@lru_cache(maxsize=20_000)
def solution(program: str, target: bool, board: Board, appearance: str, most: int = EDITS) -> Solution:
    """The nearest board with the target value, at most `most` edits away.

    Raises:
        ProgramError: the program cannot be compiled, or has no value on `board`.
        ProgramBudgetError: the program is too large, or needs too much work on a board that is tried.
    """
    compiled = compile_program(program)
    if compiled.compute(board) == target:
        return Solution(0, True)
    reached = partial(_reached, compiled, target)
    if not most:
        return Solution(None, True)
    if appearance == "scatter":
        return _searched(program, reached, board, most)
    if board == EMPTY_BOARD:
        built = takewhile(lambda each: each[0] <= most, _built(is_symmetric(program)))
        return Solution(next((n for n, tried in built if reached(tried)), None), True)
    return Solution(_nearest(reached, board, is_symmetric(program), most), True)


def _reached(program: Program, target: bool, board: Board) -> bool:
    """Whether a board has the target value; a program that needs too much work is refused."""
    try:
        return program.compute(board) == target
    except ProgramBudgetError:
        raise
    except ProgramError:
        return False


def is_constant(program: str, value: bool) -> bool:
    """Whether a program has this value on all boards of towers, those of eleven and twelve blocks included.

    Raises:
        ProgramError: the program cannot be compiled.
    """
    compiled = compile_program(program)
    return all(compiled.has(value, board) for _, board in _built(is_symmetric(program)))


def is_symmetric(program: str) -> bool:
    """Whether a program cannot tell the boxes apart by their places: it reads no order of a list."""
    return not any(_is_ordered(node) for node in ast.walk(parse(program)))


def _is_ordered(node: ast.AST) -> bool:
    """Whether an element of a list is chosen by its place, or lists may be joined or compared."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ORDERED
    if isinstance(node, ast.Compare):
        equal = any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
        return equal and not any(map(_is_single, (node.left, *node.comparators)))
    return isinstance(node, ast.Subscript | ast.Add)


def _is_single(node: ast.expr) -> bool:
    """Whether a value is a number or a constant such as Color.BLUE, or the number of elements of a list."""
    counts = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("count", "len")
    )
    return counts or isinstance(node, ast.Constant | ast.Attribute)


@lru_cache(maxsize=1)
def _stacks() -> tuple[Box, ...]:
    """The 121 towers, the lowest first."""
    return tuple(
        tuple(tower_block(level, color) for level, color in enumerate(colors))
        for height in range(len(TOWER_Y) + 1)
        for colors in product(range(len(COLORS)), repeat=height)
    )


@lru_cache(maxsize=2)
def _built(symmetric: bool) -> tuple[tuple[int, Board], ...]:
    """All boards of towers, and their numbers of blocks, the fewest first.

    Args:
        symmetric: whether one order of the boxes is enough.
    """
    return tuple(sorted(_boards(symmetric), key=itemgetter(0)))


def _boards(symmetric: bool) -> Iterator[tuple[int, Board]]:
    """All boards of towers with their numbers of blocks; with one order of the boxes if `symmetric`."""
    chosen = combinations_with_replacement(_stacks(), 3) if symmetric else product(_stacks(), repeat=3)
    for left, middle, right in chosen:
        yield len(left) + len(middle) + len(right), (left, middle, right)


def _nearest(reached: Reached, board: Board, symmetric: bool, most: int) -> int | None:
    """The smallest number of edits from a board of towers to the target value, breadth first."""
    layer, seen = {_ordered(board, symmetric)}, {_ordered(board, symmetric)}
    for edits in range(1, most + 1):
        layer = {_ordered(near, symmetric) for each in layer for near in _edited(each)} - seen
        if any(reached(each) for each in sorted(layer)):
            return edits
        seen |= layer
    return None


def _ordered(board: Board, symmetric: bool) -> Board:
    if not symmetric:
        return board
    left, middle, right = sorted(board)
    return left, middle, right


def _edited(board: Board) -> Iterator[Board]:
    """All boards one edit away."""
    for i, box in enumerate(board):
        changed: list[Box] = [box[:-1]] if box else []
        if len(box) < len(TOWER_Y):
            changed += [(*box, tower_block(len(box), color)) for color in range(len(COLORS))]
        for each in changed:
            yield rules.with_box(board, i, each)


def _searched(program: str, reached: Reached, board: Board, most: int) -> Solution:
    """The first board with the target value on random walks of at most `most` edits.

    A walk mostly adds items that the program names, often into the same box.
    """
    draw = Draw(Key(0, ("blocks", "solution", program)))
    about = _subjects(program)
    tried = 0
    while tried < TRIED:
        home = draw.below(6)  # 3 to 5: no box is preferred
        near = board
        for edits in range(1, most + 1):
            i = home if home < 3 and draw.uniform() < 0.8 else draw.below(3)
            near = random_edits.edited_items(near, i, about, REMOVED if any(board) else 0.0, draw)
            tried += 1
            if reached(near):
                return Solution(edits, edits == 1)
    return Solution(None, False)


def _subjects(program: str) -> tuple[Subject, ...]:
    """All combinations of the shapes, colours, sizes and places that a program names; -1: it names none."""
    words = set(re.findall(r"[a-z]+", program.lower().replace("_", " ")))
    named = [
        [number for name, number in zip(names, numbers) if name in words] or [-1]
        for names, numbers in (
            (SHAPES, range(3)),
            (COLORS, range(3)),
            (("small", "medium", "big"), (10, 20, 30)),
            (PLACES, range(len(PLACES))),
        )
    ]
    return tuple(product(*named))
