"""The best fixed action sequence: the success rate that an agent reaches without reading the sentence.

Episodes from the empty board always pass through the same boards as long as the actions are the same. So the
best fixed sequence is also the best that an agent can do whose sentence is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Generic, TypeVar

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.errors import ProgramError
from loquent.tasks.blocks.boards.board import COLORS, Board, tower_block
from loquent.tasks.blocks.programs.program import compile_program

A = TypeVar("A", bound=Hashable)
T = TypeVar("T", bound=Hashable)
Towers = tuple[tuple[int, ...], ...]  # the colours of three towers from the bottom to the top

LONGEST = 10  # edits before the stop of a published episode
JUDGED = 300  # rows that compare sequences during the search
STARTS = 4  # searches from different sequences; the first begins with the empty one
AT_ONCE, MOST = 400, 2000  # changed sequences that are compared before the search goes on, or ends


@dataclass(frozen=True)
class Fixed(Generic[A]):
    """A fixed action sequence, without the stop at its end, and the share of rows on which it succeeds."""

    actions: tuple[A, ...]
    share: float


def reached(row: Row, board: Board) -> bool:
    """Whether the program of a row has the target value on a board; False where it has no value."""
    try:
        return compile_program(row["program"])(board) == row["target"]
    except ProgramError:
        return False


def success(rows: Sequence[Row], actions: Sequence[A], edit: Callable[[Board, A], Board | None]) -> float:
    """The share of rows on which the actions, followed by a stop, reach the target.

    Args:
        edit: the board after an action; None where the action is invalid, which fails the episode.
    """
    finals: dict[Board, Board | None] = {}
    successes = 0
    for row in rows:
        board: Board = row["board"]
        if board not in finals:
            finals[board] = _after(board, actions, edit)
        final = finals[board]
        successes += final is not None and reached(row, final)
    return successes / len(rows) if rows else 0.0


def best(
    rows: Sequence[Row],
    actions: Sequence[A],
    edit: Callable[[Board, A], Board | None],
    longest: int = LONGEST,
    seed: int = 0,
) -> Fixed[A]:
    """The best sequence of at most `longest` actions that a local search finds, and its share of all rows.

    The search changes, inserts or removes one action at a time, as long as the share of `JUDGED` evenly
    spaced rows grows. It is repeated from random sequences.
    """
    judged = _judged(rows)

    def share(sequence: tuple[A, ...]) -> float:
        return success(judged, sequence, edit)

    def near(sequence: tuple[A, ...]) -> list[tuple[A, ...]]:
        return neighbours(sequence, actions, longest)

    starts: list[tuple[A, ...]] = [()]
    for start in range(1, STARTS):
        drawn = Key(seed, ("fixed", start)).generator().integers(len(actions), size=longest)
        starts.append(tuple(actions[int(i)] for i in drawn))
    ends = [_climb(start, near, share, Key(seed, ("climb", i))) for i, start in enumerate(starts)]
    final = max(ends, key=lambda sequence: success(rows, sequence, edit))
    return Fixed(final, success(rows, final, edit))


def best_towers(rows: Sequence[Row], longest: int = LONGEST, seed: int = 0) -> Fixed[tuple[int, int]]:
    """The best additions (box, colour) to an empty board of towers, and their share of all rows.

    Only the board at the end counts, so the search changes a whole tower at a time; else it works as `best`.
    It ends with a search from the best board that all rows judge.
    """
    judged = _judged(rows)
    stacks = [stack for height in range(5) for stack in product(range(len(COLORS)), repeat=height)]

    def board_of(towers: Towers) -> Board:
        left, middle, right = (tuple(map(tower_block, range(len(t)), t)) for t in towers)
        return left, middle, right

    def share(towers: Towers, of: Sequence[Row] = judged) -> float:
        board = board_of(towers)
        return sum(reached(row, board) for row in of) / len(of) if of else 0.0

    def near(towers: Towers) -> list[Towers]:
        changed = [(*towers[:i], stack, *towers[i + 1 :]) for i in range(3) for stack in stacks]
        return [each for each in changed if each != towers and sum(map(len, each)) <= longest]

    starts: list[Towers] = [((), (), ())]
    for start in range(1, STARTS):
        rng = Key(seed, ("towers", start)).generator()
        height = min(3, longest // 3)
        starts.append(tuple(tuple(map(int, rng.integers(3, size=height))) for _ in range(3)))
    ends = [_climb(start, near, share, Key(seed, ("climb", i))) for i, start in enumerate(starts)]
    final = max(ends, key=lambda towers: share(towers, rows))
    if len(judged) < len(rows):
        final = _climb(final, near, lambda towers: share(towers, rows), Key(seed, ("climb", "all")))
    return Fixed(tuple((box, c) for box, stack in enumerate(final) for c in stack), share(final, rows))


def _judged(rows: Sequence[Row]) -> Sequence[Row]:
    """At most `JUDGED` evenly spaced rows."""
    return rows[:: -(-len(rows) // JUDGED)] if rows else rows


def _climb(start: T, near: Callable[[T], list[T]], share: Callable[[T], float], key: Key) -> T:
    """The end of a search that goes to a better neighbour as long as there is one."""
    rng, known = key.generator(), {start: share(start)}

    def cached_value(place: T) -> float:
        if place not in known:
            known[place] = share(place)
        return known[place]

    place = start
    while True:
        around = near(place)
        order = [around[i] for i in rng.permutation(len(around))[:MOST]]
        chunks = (order[i : i + AT_ONCE] for i in range(0, len(order), AT_ONCE))
        bests = (max(chunk, key=cached_value) for chunk in chunks)
        better = next((each for each in bests if known[each] > known[place]), None)
        if better is None:
            return place
        place = better


def neighbours(sequence: tuple[A, ...], actions: Sequence[A], longest: int) -> list[tuple[A, ...]]:
    """All sequences that differ by one changed, removed or inserted action, of at most `longest` actions."""
    places = range(len(sequence))
    changed = [(*sequence[:i], a, *sequence[i + 1 :]) for i in places for a in actions if a != sequence[i]]
    removed = [(*sequence[:i], *sequence[i + 1 :]) for i in places]
    if len(sequence) == longest:
        return [*changed, *removed]
    inserted = [(*sequence[:i], a, *sequence[i:]) for i in range(len(sequence) + 1) for a in actions]
    return [*changed, *removed, *inserted]


def _after(board: Board, actions: Sequence[A], edit: Callable[[Board, A], Board | None]) -> Board | None:
    for action in actions:
        edited = edit(board, action)
        if edited is None:
            return None
        board = edited
    return board
