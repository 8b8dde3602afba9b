"""Boards of towers as arrays of numbers: every stack is one of 121."""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from loquent.tasks.blocks.boards.board import BOX_SIDE, COLORS, EMPTY_BOARD, TOWER_Y, Board, Box, tower_block
from loquent.tasks.blocks.edits.base import ADD, REMOVE
from loquent.tasks.blocks.edits.towers import TowerEdits
from loquent.tasks.blocks.pictures import tiles
from loquent.tasks.blocks.views import COLUMNS, OBJECTS

Ints = NDArray[np.int64]
NONE = -1


class Stacks:
    """All stacks of 0 to 4 blocks, numbered by height, then colors; tables from a stack's number.

    Attributes:
        boxes: the stacks as values; `numbers` is the inverse.
        push: i64[121, 3]: the stack with a block of a color on its top, -1 for a full one.
        pop: i64[121]: the stack without its top block, -1 for the empty one.
        height: i64[121].
        items: i16[121, 4, 5]: x, y, shape, color and size of the blocks; 0 above the top.
    """

    def __init__(self) -> None:
        colors = [c for n in range(len(TOWER_Y) + 1) for c in product(range(len(COLORS)), repeat=n)]
        self.boxes: list[Box] = [tuple(tower_block(i, c) for i, c in enumerate(stack)) for stack in colors]
        self.numbers = {box: i for i, box in enumerate(self.boxes)}
        index = {stack: i for i, stack in enumerate(colors)}
        self.push = np.array([[index.get((*stack, c), NONE) for c in range(3)] for stack in colors])
        self.pop = np.array([index[stack[:-1]] if stack else NONE for stack in colors])
        self.height = np.array([len(stack) for stack in colors])
        self.items = np.zeros((len(colors), len(TOWER_Y), 5), dtype=np.int16)
        for i, box in enumerate(self.boxes):
            if box:
                self.items[i, : len(box)] = box
        self.half = np.stack([tiles.box_tile(box).half for box in self.boxes])


@lru_cache(maxsize=1)
def stacks() -> Stacks:
    """The tables, made at the first use."""
    return Stacks()


class TowerBoards:
    """The boards of n environments: i64[n, 3], the number of each box's stack."""

    def __init__(self, count: int, edits: TowerEdits) -> None:
        self.tables, self.count = stacks(), count
        self.codes = np.zeros((count, 3), dtype=np.int64)
        moves = [edits.edit(i) for i in range(len(edits))]
        self._adds = np.array([move.type == ADD for move in moves])
        self._removes = np.array([move.type == REMOVE for move in moves])
        self._box = np.array([max(move.box, 0) for move in moves])
        self._color = np.array([move.item.color if move.item else 0 for move in moves])
        self._every = np.arange(count)
        heights = range(len(TOWER_Y) + 1)
        self._masks = np.stack(
            [
                edits.mask(edits.legal(tuple((EMPTY_ITEM,) * n for n in each)))  # type: ignore[arg-type]  # heights decide
                for each in product(heights, repeat=3)
            ]
        ).astype(np.int8)

    def set(self, i: int, board: Board) -> None:
        """Give environment `i` a board of towers."""
        self.codes[i] = [self.tables.numbers[box] for box in board]

    def board(self, i: int) -> Board:
        """The board of environment `i` as a value."""
        left, middle, right = (self.tables.boxes[code] for code in self.codes[i].tolist())
        return left, middle, right

    def after(self, actions: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """(i64[n], bool[n]): the number of the changed stack after each action, and whether it is invalid."""
        before = self.codes[self._every, self._box[actions]]
        adds, removes = self._adds[actions], self._removes[actions]
        changed = np.where(
            adds,
            self.tables.push[before, self._color[actions]],
            np.where(removes, self.tables.pop[before], 0),
        )
        return changed, (adds | removes) & (changed == NONE)

    def apply(self, actions: Ints, changed: Ints, which: NDArray[np.bool_]) -> None:
        """Make the edits of the environments `which` (bool[n])."""
        self.codes[self._every[which], self._box[actions][which]] = changed[which]

    def objects(self) -> NDArray[np.int16]:
        """i16[n, 32, 7]: as `views.object_rows`."""
        rows = np.zeros((self.count, OBJECTS, COLUMNS), dtype=np.int16)
        heights = self.tables.height[self.codes]
        ends = heights.cumsum(axis=1)
        real = np.arange(len(TOWER_Y)) < heights[:, :, None]
        env, box, level = np.nonzero(real)
        place = (ends - heights)[env, box] + level
        rows[env, place, 0] = 1
        rows[env, place, 1] = box
        rows[env, place, 2:] = self.tables.items[self.codes[env, box], level]
        return rows

    def images(self) -> NDArray[np.uint8]:
        """u8[n, 50, 190, 3]: the half pictures."""
        pictures = np.empty((self.count, tiles.HEIGHT // 2, tiles.WIDTH // 2, 3), dtype=np.uint8)
        pictures[:] = tiles.half(EMPTY_BOARD)
        side, pitch = BOX_SIDE // 2, tiles.PITCH // 2
        for box in range(3):
            pictures[:, :, pitch * box : pitch * box + side] = self.tables.half[self.codes[:, box]]
        return pictures

    def masks(self) -> NDArray[np.int8]:
        """i8[n, 13]: 1 for legal actions."""
        heights = self.tables.height[self.codes]
        return self._masks[(heights[:, 0] * 5 + heights[:, 1]) * 5 + heights[:, 2]]


EMPTY_ITEM = tower_block(0, 0)
