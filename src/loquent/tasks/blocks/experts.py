"""The expert of blocks: a bounded search for edits after which the statement has the wanted truth value.

Towers: breadth first, so the first result is a shortest one; boards that differ only in the order of the
boxes are tried once. Off the plan a smaller search looks for fewer edits than lead to its last board.
Scattered items: every single edit, then random sequences of edits, from which edits that are not needed are
left out. The search asks the program only for truth values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import permutations, takewhile

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.core.values import digest
from loquent.tasks.blocks.boards import legality, rules
from loquent.tasks.blocks.boards.board import SHAPES, Board, Item
from loquent.tasks.blocks.edits.base import ADD, REMOVE, STOP, Edits
from loquent.tasks.blocks.edits.positions import PlacedEdits
from loquent.tasks.blocks.geometry.tables import CELL
from loquent.tasks.blocks.programs.program import Program

TOWER_WORK, SCATTER_WORK = 30_000, 6_000  # boards whose truth value is computed
DETOUR_WORK = 200  # the same off the plan; the search ends after the depth that reaches it
PLANS = 4096  # cached plans
REPEATS = 0.5  # the probability that a random edit adds an item that looks like the last one
NEARBY = 0.5  # the probability that it is made in the box of the last one
REMOVALS = (0.15, 0.15, 0.15, 0.7)  # the probability of a removal, one of these for each random sequence

_COLUMN, _ROW = np.divmod(np.arange(legality.CELLS), legality.SIDE)
_EDGES = [_COLUMN == 0, _COLUMN == legality.SIDE - 1, _ROW == 0, _ROW == legality.SIDE - 1]
# where the items of one random sequence are placed: anywhere, or at one side, at all sides, in the corners
REGIONS = [
    *[np.ones(legality.CELLS, dtype=np.bool_)] * 4,
    *_EDGES,
    np.any(_EDGES, axis=0),
    np.sum(_EDGES, axis=0) == 2,
]

Apply = Callable[[Board, int], Board]
Plan = tuple[tuple[int, Board], ...]  # edits, each with the board after it


class Planner:
    """Searches for shortest edits of a board; plans are cached and depend on the arguments alone.

    Args:
        edits: the action set.
        apply: the board after a legal edit.
        most: the most edits of a plan.
    """

    def __init__(self, edits: Edits, apply: Apply, most: int) -> None:
        self.edits, self.apply, self.most = edits, apply, most
        self._find = lru_cache(maxsize=PLANS)(self._search)

    def __reduce__(self) -> tuple[object, ...]:
        return Planner, (self.edits, self.apply, self.most)  # the cached plans are left behind

    def next(self, program: Program, target: bool, first: Board, board: Board, left: int) -> int:
        """The next action: along the plan from the first board, or else along a plan from the current one.

        `stop` where the statement has the wanted value, and where no plan is short enough.

        Args:
            left: the number of actions left, `stop` included.
        """
        if program.has(target, board):
            return STOP
        plan = self.plan(program, target, first) or ()
        before = [first, *(after for _, after in plan[:-1])]
        rest: Plan | None = plan[before.index(board) :] if board in before else None
        if not rest or len(rest) >= left:
            rest = self._find(program, target, board, plan[-1][1] if plan else None)
        return rest[0][0] if rest and len(rest) < left else STOP

    def plan(self, program: Program, target: bool, board: Board) -> Plan | None:
        """Edits after which the statement has the value `target`; None where the search finds none."""
        return self._find(program, target, board, None)

    def _search(self, program: Program, target: bool, board: Board, goal: Board | None) -> Plan | None:
        """A plan; `goal` is a board on which the statement has the value, if one is known."""
        if program.has(target, board):
            return ()
        if isinstance(self.edits, PlacedEdits):
            return self._scatter(program, target, board, self.edits)
        if goal is None:
            return self._towers(program, target, board, self.most, TOWER_WORK)
        way = self._way(board, goal)
        return self._towers(program, target, board, len(way) - 1, DETOUR_WORK) or way

    def _way(self, board: Board, goal: Board) -> Plan:
        """The fewest edits from towers to others, whose boxes may be in another order."""
        left, middle, right = min(permutations(goal), key=lambda order: sum(map(_distance, board, order)))
        goal = (left, middle, right)
        plan: Plan = ()
        while board != goal:
            box = next(b for b in range(3) if board[b] != goal[b])
            own, wanted = board[box], goal[box]
            fits = own == wanted[: len(own)]
            i = (
                _known(self.edits, ADD, box, wanted[len(own)].color)
                if fits
                else _known(self.edits, REMOVE, box)
            )
            board = self.apply(board, i)
            plan = (*plan, (i, board))
        return plan

    def _towers(self, program: Program, target: bool, board: Board, most: int, work: int) -> Plan | None:
        """Breadth first over the boards of towers; no depth begins after `work` boards."""
        seen = {_unordered(board)}
        front: list[tuple[Board, Plan]] = [(board, ())]
        for _ in range(most):
            if len(seen) >= work:
                break
            following: list[tuple[Board, Plan]] = []
            for current, plan in front:
                for i in range(1, len(self.edits)):
                    if self.edits.problem(current, i):
                        continue
                    after = self.apply(current, i)
                    name = _unordered(after)
                    if name in seen:
                        continue
                    seen.add(name)
                    longer = (*plan, (i, after))
                    if program.has(target, after):
                        return longer
                    following.append((after, longer))
            front = following
        return None

    def _scatter(self, program: Program, target: bool, board: Board, edits: PlacedEdits) -> Plan | None:
        """All single edits, then random sequences."""
        if self.most < 1:
            return None
        work = SCATTER_WORK
        for i in _candidates(edits, board):
            work -= 1
            after = self.apply(board, i)
            if program.has(target, after):
                return ((i, after),)
        rng = Key(0, ("blocks", "expert", program.text, digest(board))).generator()
        best: Plan | None = None
        while work > 0:
            plan, tried = self._walk(program, target, board, edits, rng, len(best) - 1 if best else self.most)
            work -= tried
            if plan is not None:
                plan, tried = self._shortened(program, target, board, plan)
                work -= tried
                best = plan if best is None or len(plan) < len(best) else best
                if len(best) <= 2:  # one edit is not enough, so this is a shortest plan
                    return best
        return best

    def _walk(
        self,
        program: Program,
        target: bool,
        board: Board,
        edits: PlacedEdits,
        rng: np.random.Generator,
        most: int,
    ) -> tuple[Plan | None, int]:
        """Random legal edits until the statement has the value, at most `most`; and how many were tried."""
        plan: Plan = ()
        box, look, region = int(rng.integers(3)), rng.integers(3, size=3), REGIONS[rng.integers(len(REGIONS))]
        removals = REMOVALS[rng.integers(len(REMOVALS))]
        for tried in range(most):
            if rng.random() > NEARBY:
                box = int(rng.integers(3))
            if rng.random() > REPEATS:
                look = rng.integers(3, size=3)
            if board[box] and rng.random() < removals:
                choices = list(_removals(edits, board, box))
                i = choices[rng.integers(len(choices))] if choices else None
            else:
                i = _drawn(edits, board, box, look, region, rng)
            if i is None:
                return None, tried
            board = self.apply(board, i)
            plan = (*plan, (i, board))
            if program.has(target, board):
                return plan, tried + 1
        return None, most

    def _shortened(self, program: Program, target: bool, first: Board, plan: Plan) -> tuple[Plan, int]:
        """The plan without edits that are not needed; and how many boards were tried."""
        tried, place = 0, 0
        while place < len(plan):
            shorter = self._replayed(first, [i for n, (i, _) in enumerate(plan) if n != place])
            if shorter is not None:
                tried += 1
                if program.has(target, shorter[-1][1] if shorter else first):
                    plan = shorter
                    continue
            place += 1
        return plan, tried

    def _replayed(self, board: Board, actions: list[int]) -> Plan | None:
        plan: Plan = ()
        for i in actions:
            if self.edits.problem(board, i):
                return None
            board = self.apply(board, i)
            plan = (*plan, (i, board))
        return plan


def _distance(tower: Sequence[Item], other: Sequence[Item]) -> int:
    """The removals and additions at the top that make a tower another one."""
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(tower, other, strict=False)))
    return len(tower) + len(other) - 2 * shared


def _unordered(board: Board) -> Board:
    left, middle, right = sorted(board)
    return left, middle, right


def _removals(edits: PlacedEdits, board: Board, b: int) -> Iterator[int]:
    """The removals at cells of a box; the removal of every item where actions are pixels."""
    first, box = rules.PITCH // edits.step * b, board[b]
    if edits.step == CELL:
        for place in np.flatnonzero(legality.cells(box)[1]).tolist():
            column, row = divmod(place, legality.SIDE)
            yield _known(edits, REMOVE, first + column, row)
        return
    for item in box:
        x, y = item.x + item.size // 2, item.y + item.size // 2
        if rules.item_of_pixel(box, x, y) >= 0:
            yield _known(edits, REMOVE, first + x, y)


def _candidates(edits: PlacedEdits, board: Board) -> Iterator[int]:
    """The legal edits at cells of the grid, where removals may be at pixels."""
    step = CELL // edits.step
    for b, box in enumerate(board):
        yield from _removals(edits, board, b)
        adds, first = legality.cells(box)[0], rules.PITCH // edits.step * b
        for place in np.flatnonzero(adds).tolist():
            cell, look = divmod(place, 27)
            column, row = divmod(cell, legality.SIDE)
            shape, rest = divmod(look, 9)
            yield _known(edits, ADD, first + column * step, row * step, shape, *divmod(rest, 3))


def _drawn(
    edits: PlacedEdits,
    board: Board,
    box: int,
    look: NDArray[np.int64],
    region: NDArray[np.bool_],
    rng: np.random.Generator,
) -> int | None:
    """A random legal addition of an item with this look to a box, at a cell of the region."""
    adds = legality.cells(board[box])[0]
    step, first = CELL // edits.step, rules.PITCH // edits.step * box
    shape, color, size = look.tolist()
    legal = adds.reshape(legality.CELLS, len(SHAPES), 3, 3)[:, shape, color, size]
    cells = np.flatnonzero(legal & region)
    if not len(cells):
        return None
    column, row = divmod(int(cells[rng.integers(len(cells))]), legality.SIDE)
    return _known(edits, ADD, first + column * step, row * step, shape, color, size)


def _known(edits: Edits, *factors: int) -> int:
    number = edits.number(factors)
    assert number is not None
    return number
