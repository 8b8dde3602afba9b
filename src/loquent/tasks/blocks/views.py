"""Views of a board: rows of numbers, pictures, and a text with colours for people."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core.task import Observation, Task
from loquent.data.features.spaces import AnyText, check_lengths
from loquent.tasks.blocks.boards.board import BOXES, COLORS, SHAPES, Board, Box
from loquent.tasks.blocks.pictures import terminal, tiles

OBJECTS = 32  # rows of items; the largest published board has 21 items, and an episode adds at most 10
COLUMNS = 7  # present, box, x, y, shape, color, size
_BYTES = OBJECTS * COLUMNS * 2
LONGEST_SENTENCE = 65_536  # characters
View = tuple[spaces.Dict, Callable[[Observation], dict[str, Any]]]

# rules "legacy" move an item up to 4 pixels out of its box
_LOW = np.array([0, 0, -4, -4, 0, 0, 0], dtype=np.int16)
_HIGH = np.array([1, len(BOXES) - 1, 104, 104, len(SHAPES) - 1, len(COLORS) - 1, 30], dtype=np.int16)


def object_rows(board: Board) -> NDArray[np.int16]:
    """i16[32, 7]: [1, box, x, y, shape, color, size] per item, box by box; other rows are 0.

    Of more than 32 items, the first 32.
    """
    rows = b"".join([_rows(i, box) for i, box in enumerate(board) if box])[:_BYTES]
    return np.frombuffer(bytearray(rows.ljust(_BYTES, b"\0")), dtype=np.int16).reshape(OBJECTS, COLUMNS)


@lru_cache(maxsize=4096)
def _rows(i: int, box: Box) -> bytes:
    """The rows of one box."""
    return np.array([(1, i, *item) for item in box], dtype=np.int16).tobytes()


def objects(task: Task) -> View:
    """The view "objects" (and "dict"): `sentence`, `target` (0 or 1) and `objects`, as in `object_rows`."""
    return _view({"objects": (_ROWS, object_rows)})


def image(task: Task) -> View:
    """The view "image": `sentence`, `target`, and `image` u8[50, 190, 3], the picture at half size."""
    return _view({"image": (_HALF, tiles.half)})


def image_full(task: Task) -> View:
    """The view "image_full": `sentence`, `target`, and `image` u8[100, 380, 3]."""
    return _view({"image": (_FULL, tiles.full)})


def both(task: Task) -> View:
    """The view "both": the entries of the views "objects" and "image"."""
    return _view({"objects": (_ROWS, object_rows), "image": (_HALF, tiles.half)})


def ansi(observation: Observation) -> str:
    """The statement, the goal and the boxes as letters."""
    fields = observation.fields
    goal = f"{fields['sentence']} -> {'true' if fields['target'] else 'false'}\n"
    return goal + terminal.letters(fields["board"])


_ROWS = spaces.Box(np.tile(_LOW, (OBJECTS, 1)), np.tile(_HIGH, (OBJECTS, 1)), dtype=np.int16)
_HALF = spaces.Box(0, 255, (tiles.HEIGHT // 2, tiles.WIDTH // 2, 3), np.uint8)
_FULL = spaces.Box(0, 255, (tiles.HEIGHT, tiles.WIDTH, 3), np.uint8)


def _view(parts: dict[str, tuple[spaces.Box, Callable[[Board], NDArray[Any]]]]) -> View:
    space = spaces.Dict(
        {
            "sentence": AnyText(LONGEST_SENTENCE),
            "target": spaces.Discrete(2),
            **{name: box for name, (box, _) in parts.items()},
        }
    )
    arrays = tuple((name, array) for name, (_, array) in parts.items())
    return space, partial(_seen, arrays)


def _seen(
    arrays: tuple[tuple[str, Callable[[Board], NDArray[Any]]], ...], observation: Observation
) -> dict[str, Any]:
    fields = observation.fields
    sentence, board = fields["sentence"], fields["board"]
    if not fields["turn"]:
        check_lengths("a statement", (sentence,), LONGEST_SENTENCE)
    seen = {"sentence": sentence, "target": int(fields["target"])}
    for name, array in arrays:
        seen[name] = array(board)
    return seen
