"""Boards of scattered items of many environments; an edit refreshes one box of their arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks import legality, rules
from loquent.tasks.blocks.board import EMPTY_BOARD, Board, Box
from loquent.tasks.blocks.edits.base import ADD, STOP
from loquent.tasks.blocks.edits.placed import LOOKS, GridEdits
from loquent.tasks.blocks.geometry.making import CELL
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
        self.boards: list[Board] = [EMPTY_BOARD] * count
        self._objects = np.zeros((count, OBJECTS, COLUMNS), dtype=np.int16)
        self._masks = np.zeros((count, len(edits)), dtype=np.int8)
        self._masks[:, 0] = 1
        shape = (tiles.HEIGHT // 2, tiles.WIDTH // 2, 3)
        self._images = np.zeros((count, *shape), dtype=np.uint8) if pictures else None

    def set(self, i: int, board: Board) -> None:
        """Give environment `i` a board."""
        self.boards[i] = board
        for b, box in enumerate(board):
            self._refresh_mask(i, b, box)
        self._refresh(i)

    def board(self, i: int) -> Board:
        """The board of environment `i`."""
        return self.boards[i]

    def after(self, actions: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """(i64[n], bool[n]): zeros, and whether each action is invalid."""
        legal = self._masks[np.arange(self.count), actions] == 1
        return actions, ~legal

    def apply(self, actions: Ints, changed: Ints, which: NDArray[np.bool_]) -> None:
        """Make the edits of the environments `which` (bool[n])."""
        chosen = actions.tolist()
        for i in np.flatnonzero(which).tolist():
            edit = self.edits.edit(chosen[i])
            if edit.type == STOP:
                continue
            board = self.boards[i]
            box = board[edit.box]
            if edit.type == ADD and edit.item is not None:
                box = (*box, rules.snapped(box, edit.item, edit.box, self.legacy))
            else:
                box = rules.without(box, rules.item_of_cell(box, edit.x, edit.y))
            self.boards[i] = rules.with_box(board, edit.box, box)
            self._refresh_mask(i, edit.box, box)
            self._refresh(i)

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

    def _refresh(self, i: int) -> None:
        self._objects[i] = object_rows(self.boards[i])
        if self._images is not None:
            self._images[i] = tiles.half(self.boards[i])

    def _refresh_mask(self, i: int, b: int, box: Box) -> None:
        adds, removals = legality.cells(box)
        first = rules.PITCH // CELL * b * legality.SIDE
        last = len(self.edits) - self.edits.columns * self.edits.rows + first
        self._masks[i, 1 + first * LOOKS : 1 + first * LOOKS + legality.ADDS] = adds
        self._masks[i, last : last + legality.CELLS] = removals
