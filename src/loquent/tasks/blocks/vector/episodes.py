"""Many episodes of blocks, as the vector environment steps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.live import Many
from loquent.core.task import OUT_OF_TURNS, Row, Task
from loquent.core.values import EMPTY
from loquent.errors import BadSetting
from loquent.tasks.blocks.edits.positions import GridEdits
from loquent.tasks.blocks.edits.towers import TowerEdits
from loquent.tasks.blocks.programs.program import Program, compile_program
from loquent.tasks.blocks.task import INVALID, LATE, RIGHT, Blocks, State, ending
from loquent.tasks.blocks.vector.scatter import ScatterBoards
from loquent.tasks.blocks.vector.towers import TowerBoards

STOP = 0


class Episodes(Many):
    """n episodes of towers, or of scattered items with the actions of the grid."""

    views: ClassVar[tuple[str, ...]] = ("objects", "dict", "image", "both")

    def __init__(self, task: Task, count: int, view: str) -> None:
        assert isinstance(task, Blocks)
        self.task, self.count = task, count
        self._objects, self._image = view != "image", view in ("image", "both")
        if isinstance(task.actions, TowerEdits):
            self.boards: TowerBoards | ScatterBoards = TowerBoards(count, task.actions)
        elif isinstance(task.actions, GridEdits):
            self.boards = ScatterBoards(count, task.actions, self._image, task.legacy)
        else:
            raise BadSetting(
                'actions = "native" has no native vector environment; use vectorization_mode="sync"'
            )
        self._programs: list[Program | None] = [None] * count
        self._rows = [EMPTY] * count
        self._invalid = [""] * count  # why the last action was invalid
        self._sentences = [""] * count
        self._targets = np.zeros(count, dtype=np.int64)
        self._turns = np.zeros(count, dtype=np.int64)

    def start(self, place: int, row: Row) -> None:
        """Begin an episode on a row."""
        fields = self._rows[place] = row.fields
        self._invalid[place] = ""
        self._programs[place] = compile_program(fields["program"])
        self._sentences[place], self._targets[place] = fields["sentence"], fields["target"]
        self._turns[place] = 0
        self.boards.set(place, fields["board"])

    def step(
        self, actions: NDArray[np.int64], active: NDArray[np.bool_]
    ) -> tuple[dict[str, NDArray[np.float64]], Sequence[str | None]]:
        """As `Task.read` and `Task.play`."""
        self._turns += active
        changed, invalid = self.boards.after(actions)
        stops, last = actions == STOP, self._turns >= self.task.options.horizon
        ended: list[str | None] = [None] * self.count
        answer, edit = np.zeros(self.count), np.zeros(self.count)
        edits = active & ~invalid & ~stops
        self.boards.apply(actions, changed, edits & ~last)
        edit[edits] = 1.0
        for place in np.flatnonzero(active & (invalid | stops | last)).tolist():
            if invalid[place]:
                answer[place], ended[place] = -1.0, INVALID
                problem = self.task.actions.problem(self.boards.board(place), int(actions[place]))
                self._invalid[place] = problem or ""
            elif stops[place]:
                program = self._programs[place]
                assert program is not None
                rule = ending(program, bool(self._targets[place]), self.boards.board(place))
                answer[place] = 1.0 if rule == RIGHT else -1.0
                ended[place] = LATE.get(rule, rule) if last[place] and self.task.legacy else rule
            else:
                ended[place] = OUT_OF_TURNS
                if not self.task.legacy:
                    answer[place], edit[place] = -1.0, 0.0
        return {"answer": answer, "edit": edit}, ended

    def info(self, place: int, ended: str) -> Mapping[str, Any]:
        """As `Task.info` after the end of the episode in a place."""
        row, board, turn = self._rows[place], self.boards.board(place), int(self._turns[place])
        return self.task.info(State(row, board, turn, self._invalid[place]), ended)

    def observation(self) -> dict[str, Any]:
        """`sentence` (a tuple of n texts), `target` i64[n], and `objects` or `image` as in the view."""
        observation: dict[str, Any] = {"sentence": tuple(self._sentences), "target": self._targets.copy()}
        if self._objects:
            observation["objects"] = self.boards.objects()
        if self._image:
            observation["image"] = self.boards.images()
        return observation

    def masks(self) -> NDArray[np.int8]:
        """i8[n, actions]: 1 for legal actions."""
        return self.boards.masks()
