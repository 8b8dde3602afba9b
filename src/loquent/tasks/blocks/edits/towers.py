"""The 13 actions of towers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import Legal
from loquent.errors import LoquentError
from loquent.tasks.blocks.boards.board import BOXES, COLORS, TOWER_Y, Board, Item
from loquent.tasks.blocks.boards.rules import EMPTY_STACK, FULL_STACK
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


class TowerEdits(Edits):
    """`stop`, `add COLOR BOX` and `remove BOX`. The legal value is a bitset in two bytes."""

    def __init__(self) -> None:
        adds = [Edit(ADD, box, item=Item(0, 0, 1, color, 20)) for box, color in product(range(3), range(3))]
        self._edits = (Edit(STOP), *adds, *(Edit(REMOVE, box) for box in range(3)))
        self._texts = (
            "stop",
            *(f"add {color} {box}" for box, color in product(BOXES, COLORS)),
            *(f"remove {box}" for box in BOXES),
        )
        self._index = {text: i for i, text in enumerate(self._texts)}
        self._legal: dict[tuple[int, ...], bytes] = {}
        self._masks: dict[Legal, NDArray[np.bool_]] = {}
        self._legal_texts: dict[Legal, tuple[str, ...]] = {}
        for heights in product(range(len(TOWER_Y) + 1), repeat=3):
            full, empty = (n == len(TOWER_Y) for n in heights), (n == 0 for n in heights)
            mask = np.array([True, *np.repeat(~np.fromiter(full, bool), 3), *~np.fromiter(empty, bool)])
            legal = np.packbits(mask, bitorder="little").tobytes()
            self._legal[heights], self._masks[legal] = legal, mask
            self._legal_texts[legal] = tuple(self._texts[i] for i in np.flatnonzero(mask))

    @property
    def parts(self) -> tuple[int, ...]:
        """(types, boxes, colors)."""
        return 3, len(BOXES), len(COLORS)

    def __len__(self) -> int:
        return len(self._texts)

    def text(self, i: int, legal: Legal = None) -> str:
        return self._texts[check_action(i, len(self._texts))]

    def index(self, text: str, legal: Legal = None) -> int | None:
        return self._index.get(text)

    def legal(self, board: Board) -> bytes:
        left, middle, right = board
        return self._legal[len(left), len(middle), len(right)]

    def contains(self, legal: Legal, i: int) -> bool:
        return 0 <= i < len(self) and bool(self._mask(legal)[i])

    def legal_texts(self, legal: Legal) -> tuple[str, ...]:
        """From a table."""
        texts = self._legal_texts.get(legal)
        return texts if texts is not None else super().legal_texts(legal)

    def mask(self, legal: Legal) -> NDArray[np.bool_]:
        return self._mask(legal).copy()

    def draw(self, legal: Legal, rng: np.random.Generator) -> int:
        return draw_action(self._mask(legal), rng)

    def edit(self, i: int) -> Edit:
        return self._edits[i]

    def problem(self, board: Board, i: int) -> str:
        edit = self._edits[i]
        if edit.type == ADD:
            return FULL_STACK if len(board[edit.box]) >= len(TOWER_Y) else ""
        return EMPTY_STACK if edit.type == REMOVE and not board[edit.box] else ""

    def factors(self, i: int) -> tuple[int, ...]:
        type, box, _, _, item = self._edits[i]
        return type, box, UNUSED if item is None else item.color

    def number(self, factors: Sequence[int]) -> int | None:
        return number_of(factors, self.parts, 1, lambda box, color: 1 + 3 * box + color, lambda box: 10 + box)

    def _mask(self, legal: Legal) -> NDArray[np.bool_]:
        mask = self._masks.get(legal)
        if mask is None:
            raise LoquentError(f"legal must be a bitset of a board of towers, got {legal!r:.80}")
        return mask
