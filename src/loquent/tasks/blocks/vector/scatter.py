"""Boards of scattered items of many environments; an edit refreshes one box of their arrays."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks.boards import legality, rules
from loquent.tasks.blocks.boards.board import BOX_SIDE, EMPTY_BOARD, Board, Box
from loquent.tasks.blocks.edits.base import ADD, STOP
from loquent.tasks.blocks.edits.positions import LOOKS, GridEdits
from loquent.tasks.blocks.geometry.tables import CELL
from loquent.tasks.blocks.pictures import tiles
from loquent.tasks.blocks.views import COLUMNS, OBJECTS, object_rows

Ints = NDArray[np.int64]


class ScatterBoards:
    """The boards of n environments with the actions of the grid, and the arrays that show them.

    Args:
        pictures: whether `images` is asked for.
        legacy: whether snaps are not checked, as in rules "legacy".
    """

    def __init__(self, count: int, edits: GridEdits, pictures: bool, legacy: bool) -> None:
        self.count, self.edits, self.legacy = count, edits, legacy
        self._edits = [edits.edit(i) for i in range(len(edits))]
        self.boards: list[Board] = [EMPTY_BOARD] * count
        self._objects = np.zeros((count, OBJECTS, COLUMNS), dtype=np.int16)
        self._masks = np.zeros((count, len(edits)), dtype=np.int8)
        self._masks[:, 0] = 1
        shape = (tiles.HEIGHT // 2, tiles.WIDTH // 2, 3)
        self._images = np.zeros((count, *shape), dtype=np.uint8) if pictures else None
        self._whole: set[int] = set()  # environments whose pictures may show items out of their boxes
        parts = [_slices(edits, b) for b in range(3)]
        # views of the arrays: an edit then costs no indexing
        self._additions = [[mask[adds] for adds, _ in parts] for mask in self._masks]
        self._removals = [[mask[removals] for _, removals in parts] for mask in self._masks]
        self._rows = list(self._objects)
        for b in range(3):
            self._refresh_mask(0, b, ())
        self._empty = self._masks[0].copy()  # the mask of the empty board

    def set(self, i: int, board: Board) -> None:
        """Give environment `i` a board."""
        self.boards[i] = board
        if board == EMPTY_BOARD:
            self._masks[i], self._objects[i] = self._empty, 0
        else:
            for b, box in enumerate(board):
                self._refresh_mask(i, b, box)
            self._objects[i] = object_rows(board)
        if self._images is not None:
            self._images[i] = tiles.half(board)
            self._whole.add(i)

    def board(self, i: int) -> Board:
        """The board of environment `i`."""
        return self.boards[i]

    def after(self, actions: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """(i64[n], bool[n]): zeros, and whether each action is invalid."""
        legal = self._masks[np.arange(self.count), actions] == 1
        return actions, ~legal

    def apply(self, actions: Ints, changed: Ints, which: NDArray[np.bool_]) -> None:
        """Make the edits of the environments `which` (bool[n])."""
        edits, boards, chosen = self._edits, self.boards, actions.tolist()
        for i in np.flatnonzero(which).tolist():
            kind, b, x, y, new = edits[chosen[i]]
            if kind == STOP:
                continue
            board = boards[i]
            box = board[b]
            if new is not None and kind == ADD:
                item = rules.snap_item(box, new, b, self.legacy)
                ends = list(accumulate(map(len, board)))
                self._insert(i, ends[b], ends[2], (1, b, *item))
                free, filled = legality.effect(item)
                additions, removals = self._additions[i][b], self._removals[i][b]
                np.bitwise_and(additions, free, additions)
                np.bitwise_or(removals, filled, removals)
                box = (*box, item)
                boards[i] = rules.with_box(board, b, box)
            else:
                box = rules.without(box, rules.item_of_cell(box, x, y))
                self._refresh_mask(i, b, box)
                boards[i] = board = rules.with_box(board, b, box)
                self._objects[i] = object_rows(board)
            if self._images is not None:
                self._refresh_image(i, b, box)

    def objects(self) -> NDArray[np.int16]:
        """i16[n, 32, 7]: as `views.object_rows`."""
        return self._objects.copy()

    def images(self) -> NDArray[np.uint8]:
        """u8[n, 50, 190, 3]: the half pictures."""
        assert self._images is not None
        return self._images.copy()

    def masks(self) -> NDArray[np.int8]:
        """i8[n, 2661]: 1 for legal actions."""
        return self._masks.copy()

    def _insert(self, i: int, row: int, count: int, numbers: tuple[int, ...]) -> None:
        """Put a row into the `count` rows of environment `i`; what does not fit is left out."""
        rows = self._rows[i]
        if row < count:
            rows[row + 1 : count + 1] = rows[row : min(count, OBJECTS - 1)].copy()
        if row < OBJECTS:
            rows[row] = numbers

    def _refresh_image(self, i: int, b: int, box: Box) -> None:
        """Copy the tile of the changed box; a whole picture where an item leaves its box (rules "legacy")."""
        assert self._images is not None
        if any(tiles.box_tile(each).outside for each in self.boards[i]):
            self._images[i] = tiles.half(self.boards[i])
            self._whole.add(i)
            return
        if i in self._whole:
            self._whole.remove(i)
            self._images[i] = tiles.half(self.boards[i])
        left = rules.PITCH // 2 * b
        self._images[i, :, left : left + BOX_SIDE // 2] = tiles.box_tile(box).half

    def _refresh_mask(self, i: int, b: int, box: Box) -> None:
        self._additions[i][b][:], self._removals[i][b][:] = legality.cells(box)


def _slices(edits: GridEdits, box: int) -> tuple[slice, slice]:
    """The actions that add to a box, and those that remove from it."""
    first = rules.PITCH // CELL * box * legality.SIDE
    removal = len(edits) - edits.columns * edits.rows + first
    addition = 1 + first * LOOKS
    return slice(addition, addition + legality.ADDS), slice(removal, removal + legality.CELLS)
