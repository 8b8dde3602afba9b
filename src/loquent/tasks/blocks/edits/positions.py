"""The actions at cells of the grid (2,661) and at pixels (1,064,001)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import Legal
from loquent.errors import LoquentError
from loquent.tasks.blocks.boards import legality
from loquent.tasks.blocks.boards.board import COLORS, SHAPES, SIZES, Board, Box, Item
from loquent.tasks.blocks.boards.rules import (
    EMPTY_CELL,
    PITCH,
    SEPARATOR,
    item_of_cell,
    item_of_pixel,
    misfit,
)
from loquent.tasks.blocks.edits.base import (
    ADD,
    REMOVE,
    STOP,
    UNUSED,
    Edit,
    Edits,
    check_action,
    draw_action,
    number_of,
)
from loquent.tasks.blocks.geometry.rings import KINDS
from loquent.tasks.blocks.geometry.tables import CELL

SIZE_NAMES = ("small", "medium", "large")
LOOKS = len(SHAPES) * len(COLORS) * len(SIZES)  # of an item: 27
WIDTH, HEIGHT = 380, 100  # pixels of the picture
DRAWS = 64  # draws from all actions before the legal ones are listed
_WRITTEN = re.compile(
    rf"(?:add (?P<size>{'|'.join(SIZE_NAMES)}) (?P<color>{'|'.join(COLORS)}) "
    rf"(?P<shape>{'|'.join(SHAPES)})|remove)"
    r" at (?P<x>0|[1-9][0-9]{0,2}) (?P<y>0|[1-9][0-9]?)"
)


class PlacedEdits(Edits):
    """`stop`, `add SIZE COLOR SHAPE at X Y` and `remove at X Y`, at pixels of the picture.

    The legal value is the board.

    Args:
        step: the distance of two places in pixels: 20 for the cells of the grid, 1 for pixels.
    """

    def __init__(self, step: int) -> None:
        self.step = step
        self.columns, self.rows = WIDTH // step, HEIGHT // step
        self._adds = self.columns * self.rows * LOOKS
        self._size = 1 + self._adds + self.columns * self.rows

    @property
    def parts(self) -> tuple[int, ...]:
        """(types, columns, rows, shapes, colors, sizes)."""
        return 3, self.columns, self.rows, len(SHAPES), len(COLORS), len(SIZES)

    def __len__(self) -> int:
        return self._size

    def text(self, i: int, legal: Legal = None) -> str:
        if not check_action(i, self._size):
            return "stop"
        type, column, row, shape, color, size = self.factors(i)
        at = f"at {column * self.step} {row * self.step}"
        return (
            f"remove {at}"
            if type == REMOVE
            else f"add {SIZE_NAMES[size]} {COLORS[color]} {SHAPES[shape]} {at}"
        )

    def index(self, text: str, legal: Legal = None) -> int | None:
        if text == "stop":
            return 0
        match = _WRITTEN.fullmatch(text) if len(text) < 64 else None
        if match is None:
            return None
        x, y = int(match["x"]), int(match["y"])
        column, row = x // self.step, y // self.step
        if x % self.step or y % self.step or column >= self.columns or row >= self.rows:
            return None
        if match["shape"] is None:
            return 1 + self._adds + column * self.rows + row
        shape, color = SHAPES.index(match["shape"]), COLORS.index(match["color"])
        size = SIZE_NAMES.index(match["size"])
        return 1 + (((column * self.rows + row) * 3 + shape) * 3 + color) * 3 + size

    def legal(self, board: Board) -> Board:
        return board

    def edit(self, i: int) -> Edit:
        type, column, row, shape, color, size = self.factors(i)
        if type == STOP:
            return Edit(STOP)
        box, x = divmod(column * self.step, PITCH)
        if x >= HEIGHT:
            return Edit(type)
        y = row * self.step
        return Edit(type, box, x, y, Item(x, y, shape, color, SIZES[size]) if type == ADD else None)

    def problem(self, board: Board, i: int) -> str:
        type, box, x, y, item = self.edit(i)
        if type == STOP:
            return ""
        if box == UNUSED:
            return SEPARATOR
        if item is not None:
            return misfit(board[box], item)
        found = (item_of_cell if self.step == CELL else item_of_pixel)(board[box], x, y)
        return EMPTY_CELL if found < 0 else ""

    def contains(self, legal: Legal, i: int) -> bool:
        return 0 <= i < self._size and not self.problem(_board(legal), i)

    def draw(self, legal: Legal, rng: np.random.Generator) -> int:
        for _ in range(DRAWS):
            i = int(rng.integers(self._size))
            if self.contains(legal, i):
                return i
        return self._listed_draw(_board(legal), rng)

    def following(self, legal: Legal, numbers: Sequence[int]) -> NDArray[np.bool_]:
        """The numbers that may follow, from the masks of the boxes, without a list of all actions."""
        board = _board(legal)
        if not numbers:
            adds, removals = self._places(board, ADD), self._places(board, REMOVE)
            return np.array([True, adds.any(), removals.any()])
        if self.number(numbers) is not None:
            return np.zeros(0, dtype=np.bool_)
        type, *place = numbers
        if len(place) < 2:
            places = self._places(board, type)[tuple(place)]
            return places.reshape(len(places), -1).any(1)
        kinds = self._places(board, type)[place[0], place[1]].reshape(len(SHAPES), len(SIZES))
        if len(place) == 2:
            return kinds.any(1)
        sizes = kinds[place[2]]
        return np.full(len(COLORS), sizes.any()) if len(place) == 3 else sizes.copy()

    def _places(self, board: Board, type: int) -> NDArray[np.bool_]:
        """bool[columns, rows, ...]: the legal additions at (column, row, kind), or removals."""
        shape = (self.columns, self.rows) if type == REMOVE else (self.columns, self.rows, KINDS)
        places = np.zeros(shape, dtype=np.bool_)
        for b, box in enumerate(board):
            first, masks = PITCH // self.step * b, self._masks(box)[type == REMOVE]
            places[first : first + len(masks)] = masks
        return places

    def _masks(self, box: Box) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The legal additions bool[columns, rows, kinds] of a box, and the removals bool[columns, rows]."""
        return legality.pixels(box)

    def _listed_draw(self, board: Board, rng: np.random.Generator) -> int:
        """A legal action from the list of all."""
        choices = [np.zeros(1, dtype=np.int64)]
        for b, box in enumerate(board):
            adds, removals = legality.pixels(box)
            first = b * PITCH * HEIGHT
            x, y, kind = np.nonzero(adds)
            place, (shape, size) = first + x * HEIGHT + y, np.divmod(kind, 3)
            choices += [1 + ((place * 3 + shape) * 3 + color) * 3 + size for color in range(len(COLORS))]
            choices.append(1 + self._adds + first + np.flatnonzero(removals))
        listed = np.concatenate(choices)
        return int(listed[rng.integers(len(listed))])

    def factors(self, i: int) -> tuple[int, ...]:
        if i == 0:
            return STOP, *[UNUSED] * 5
        if i > self._adds:
            return REMOVE, *divmod(i - 1 - self._adds, self.rows), UNUSED, UNUSED, UNUSED
        rest, size = divmod(i - 1, 3)
        rest, color = divmod(rest, 3)
        rest, shape = divmod(rest, 3)
        return ADD, *divmod(rest, self.rows), shape, color, size

    def number(self, factors: Sequence[int]) -> int | None:
        rows, adds = self.rows, self._adds

        def add(column: int, row: int, shape: int, color: int, size: int) -> int:
            return 1 + (((column * rows + row) * 3 + shape) * 3 + color) * 3 + size

        return number_of(factors, self.parts, 2, add, lambda column, row: 1 + adds + column * rows + row)


class GridEdits(PlacedEdits):
    """The edits at the 19 x 5 cells of 20 pixels, with precomputed texts and edits, and a mask."""

    def __init__(self) -> None:
        super().__init__(CELL)
        texts = [PlacedEdits.text(self, i) for i in range(len(self))]
        self._texts, self._index = texts, {text: i for i, text in enumerate(texts)}
        self._edits = [PlacedEdits.edit(self, i) for i in range(len(self))]

    def text(self, i: int, legal: Legal = None) -> str:
        return self._texts[check_action(i, self._size)]

    def index(self, text: str, legal: Legal = None) -> int | None:
        return self._index.get(text)

    def edit(self, i: int) -> Edit:
        return self._edits[i]

    def mask(self, legal: Legal) -> NDArray[np.bool_]:
        mask = np.zeros(self._size, dtype=np.bool_)
        mask[0] = True
        columns = PITCH // CELL
        for b, box in enumerate(_board(legal)):
            adds, removals = legality.cells(box)
            first = columns * b * legality.SIDE
            mask[1 + first * LOOKS : 1 + first * LOOKS + legality.ADDS] = adds
            mask[1 + self._adds + first : 1 + self._adds + first + legality.CELLS] = removals
        return mask

    def _masks(self, box: Box) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        side = legality.SIDE
        adds, removals = legality.cells(box)
        kinds = adds.reshape(side, side, len(SHAPES), len(COLORS), len(SIZES))[:, :, :, 0]
        return kinds.reshape(side, side, KINDS), removals.reshape(side, side)

    def draw(self, legal: Legal, rng: np.random.Generator) -> int:
        return draw_action(self.mask(legal), rng)


def _board(legal: Legal) -> Board:
    if not isinstance(legal, tuple):
        raise LoquentError(f"legal must be a board, got {legal!r:.80}")
    return legal  # type: ignore[return-value]  # a board is a tuple of three boxes
