"""The view of a board and its statement as one vector, for learners that read vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.task import Observation, Task
from loquent.data.features.base import Featurizer
from loquent.data.features.views import Inputs, View
from loquent.tasks.blocks.boards.board import BOXES, COLORS, SHAPES, SIZES, TOWER_Y
from loquent.tasks.blocks.views import OBJECTS

SCALE = 100.0  # pixels: the side of a box
LEAST, MOST = -0.04, 1.04  # a place in a box; rules "legacy" move items up to 4 pixels out of it
LOOK = len(BOXES) + len(SHAPES) + len(COLORS) + len(SIZES)


class BlocksView(View):
    """[the statement; the wanted truth value; the board].

    A board of towers is one-hot: for each box and level the color, or nothing. A board of scattered items has
    for each of 32 items its box, shape, color and size, one-hot, and its place in the box; further items are
    left out.
    """

    def __init__(self, task: Task, featurizer: Featurizer) -> None:
        self.tower = task.options.appearance == "tower"
        bound = featurizer.bound
        parts: list[tuple[int, float, float]] = [(featurizer.dimension, -bound, bound), (1, 0.0, 1.0)]
        if self.tower:
            parts.append((len(BOXES) * len(TOWER_Y) * len(COLORS), 0.0, 1.0))
        else:
            parts += [(OBJECTS * LOOK, 0.0, 1.0), (OBJECTS * 2, LEAST, MOST)]
        super().__init__(featurizer, parts)

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields, width = observation.fields, self.width
        array = self.blank.copy()
        array[:width] = self.featurizer.vector(fields["sentence"])
        array[width] = fields["target"]
        (self._towers if self.tower else self._items)(fields["board"], array[width + 1 :])
        return array

    def inputs(self, observation: Observation) -> Inputs:
        """The statement."""
        return [observation.fields["sentence"]], []

    def _towers(self, board: Any, into: NDArray[np.float32]) -> None:
        cells = into.reshape(len(BOXES), len(TOWER_Y), len(COLORS))
        for box, items in enumerate(board):
            for level, item in enumerate(items):
                cells[box, level, item.color] = 1

    def _items(self, board: Any, into: NDArray[np.float32]) -> None:
        looks = into[: OBJECTS * LOOK].reshape(OBJECTS, LOOK)
        places = into[OBJECTS * LOOK :].reshape(OBJECTS, 2)
        items = [(box, item) for box, own in enumerate(board) for item in own][:OBJECTS]
        for row, (box, item) in enumerate(items):
            start = 0
            for number, size in (
                (box, len(BOXES)),
                (item.shape, len(SHAPES)),
                (item.color, len(COLORS)),
                (SIZES.index(item.size), len(SIZES)),
            ):
                looks[row, start + number] = 1
                start += size
            places[row] = item.x / SCALE, item.y / SCALE
