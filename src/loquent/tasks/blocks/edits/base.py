"""What the action sets share: the edit that an action makes, the array form, and legal values.

Actions are numbered as in the released code of arXiv:2211.01994: stop, then all additions, then all removals.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import ActionSet, Legal
from loquent.tasks.blocks.boards.board import Board, Item

STOP, ADD, REMOVE = range(3)
UNUSED = -1


class Edit(NamedTuple):
    """An action: its type, its box (-1: a separator), its place in the box in pixels, and the added item."""

    type: int
    box: int = UNUSED
    x: int = UNUSED
    y: int = UNUSED
    item: Item | None = None


class Edits(ActionSet):
    """A set of edits of a board and `stop`."""

    @abstractmethod
    def edit(self, i: int) -> Edit:
        """The edit that action `i` makes."""

    @abstractmethod
    def legal(self, board: Board) -> Legal:
        """The `legal` value of a board."""

    @abstractmethod
    def problem(self, board: Board, i: int) -> str:
        """Why action `i` is invalid on a board, a reason of `rules.INVALID`; "" for a legal action."""

    @abstractmethod
    def factors(self, i: int) -> tuple[int, ...]:
        """The array form of action `i`, one number per part, -1 where it has none."""

    @abstractmethod
    def number(self, factors: Sequence[int]) -> int | None:
        """The action with this array form, or None. Missing places at the end count as -1."""

    def split(self, i: int) -> tuple[int, ...]:
        return tuple(number for number in self.factors(i) if number != UNUSED)

    def join(self, numbers: Sequence[int]) -> int:
        i = self.number(numbers)
        if i is None:
            raise IndexError(f"no action has the numbers {tuple(numbers)}")
        return i

    def following(self, legal: Legal, numbers: Sequence[int]) -> NDArray[np.bool_]:
        if self.number(numbers or (UNUSED,)) is not None:
            return np.zeros(0, dtype=np.bool_)
        k, table = len(numbers), self._table
        begins = self.mask(legal) & (table[:, :k] == np.array(numbers, dtype=np.int64)).all(1)
        found = np.zeros(self.parts[k] + 1, dtype=np.bool_)  # the last entry takes the unused places
        found[table[begins, k]] = True
        return found[:-1]

    @cached_property
    def _table(self) -> NDArray[np.int64]:
        """i64[n, parts]: the array forms of all actions."""
        return np.array([self.factors(i) for i in range(len(self))], dtype=np.int64)


def check_action(i: int, size: int) -> int:
    """The number of an action; IndexError where no such action exists."""
    if not 0 <= i < size:
        raise IndexError(f"action {i} is not in 0..{size - 1}")
    return i


def draw_action(mask: NDArray[np.bool_], rng: np.random.Generator) -> int:
    """An action whose mask is True, each equally likely."""
    choices = np.flatnonzero(mask)
    return int(choices[rng.integers(len(choices))])


def number_of(
    factors: Sequence[int],
    parts: tuple[int, ...],
    needed: int,
    add: Callable[..., int],
    remove: Callable[..., int],
) -> int | None:
    """The action of an array form: a removal has `needed` places after its type."""
    values = [int(value) for value in factors] + [UNUSED] * (len(parts) - len(factors))
    count = {STOP: 0, ADD: len(parts) - 1, REMOVE: needed}.get(values[0], -1)
    places, rest = values[1 : 1 + count], values[1 + count :]
    if count < 0 or len(values) > len(parts) or any(value != UNUSED for value in rest):
        return None
    if any(not 0 <= value < size for value, size in zip(places, parts[1:])):
        return None
    if values[0] == STOP:
        return 0
    return add(*places) if values[0] == ADD else remove(*places)
