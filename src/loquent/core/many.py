"""Many episodes of one task, stepped together on arrays: what a native vector environment needs of a world."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from loquent.core.task import Row, Task


class Many(ABC):
    """n episodes of a task with an action set, each in its place from 0 to n - 1.

    Every place behaves as an episode of `Task.start` and `Task.act` with the same row and the same actions.
    `Task.many` names the class of a world.

    Args:
        task: the task.
        count: n, the number of places.
        view: the name of the view, one of `views`.
    """

    views: ClassVar[tuple[str, ...]] = ()  # names of `Task.views`; the first is the default

    @abstractmethod
    def __init__(self, task: Task, count: int, view: str) -> None: ...

    @abstractmethod
    def start(self, place: int, row: Row) -> None:
        """Begin an episode on a row."""

    @abstractmethod
    def step(
        self, actions: NDArray[np.int64], active: NDArray[np.bool_]
    ) -> tuple[dict[str, NDArray[np.float64]], Sequence[str | None]]:
        """Take one action in each place where `active` is True; the others stay as they are.

        Args:
            actions: i64[n], numbers of the action set.
            active: bool[n].

        Returns:
            The rewards by name, f64[n] without weights, and the rule that ended the episode of each place now.
        """

    @abstractmethod
    def observation(self) -> Any:
        """The observations of all places, an element of the batched space of the view; new arrays."""

    @abstractmethod
    def masks(self) -> NDArray[np.int8]:
        """i8[n, actions]: 1 for legal actions; a new array."""
