"""Numbered commands: a flat number, or the parts (command, query).

The numbers of the commands without a query come first, in the order of `commands.COMMANDS`; number m + j is
the search for query j. Its parts are (m, j); those of a command without a query are (i,).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.core import actions
from loquent.core.actions import MASK_LIMIT, ActionSet, Legal
from loquent.tasks.reading.commands import COMMANDS, SEARCH, text_of


class Commands(ActionSet):
    """The commands of a mode with at most `size` queries.

    `parts` is (number of commands, number of queries): the sizes of the two heads of a factored policy.
    """

    def __init__(self, mode: str, size: int) -> None:
        self.plain = tuple(verb for verb in COMMANDS[mode] if verb != SEARCH)
        self.size = size

    def __len__(self) -> int:
        return len(self.plain) + self.size

    @property
    def parts(self) -> tuple[int, ...]:
        return len(self.plain) + 1, self.size

    def split(self, i: int) -> tuple[int, ...]:
        """(command,), or for a search (command, query)."""
        m = len(self.plain)
        return (i,) if i < m else (m, i - m)

    def join(self, numbers: Sequence[int]) -> int:
        """The number of (command,) or (command, query)."""
        return sum(numbers)

    def following(self, legal: Legal, numbers: Sequence[int]) -> NDArray[np.bool_]:
        m, count = len(self.plain), self.legal_queries(legal)
        if not numbers:
            return np.arange(m + 1) < (m if count >= 0 else 0) + (count > 0)
        if tuple(numbers) == (m,):
            return np.arange(self.size) < count
        return np.zeros(0, dtype=np.bool_)

    def asks_text(self, legal: Legal) -> bool:
        """Whether the answer to the question is asked for."""
        return legal == ()

    @abstractmethod
    def legal_queries(self, legal: Legal) -> int:
        """How many queries are legal, from the first on; -1 when no command is legal."""


class Slots(Commands, actions.Slots):
    """Queries that change from turn to turn; `legal` is the tuple of the texts of the legal commands.

    The plain commands come first; an empty tuple means that no command is legal.
    """

    def text(self, i: int, legal: Legal = None) -> str:
        if i < 0:
            raise IndexError(f"action {i} is not in 0..{len(self) - 1}")
        return super().text(i, legal)

    def index(self, text: str, legal: Legal = None) -> int | None:
        """The number of a text; a plain command has the same in every turn, so it needs no `legal`."""
        if legal is None and text in self.plain:
            return self.plain.index(text)
        return super().index(text, legal)

    def mask(self, legal: Legal) -> NDArray[np.bool_]:
        count = self.legal_queries(legal)
        return np.arange(len(self)) < (len(self.plain) + count if count >= 0 else 0)

    def legal_queries(self, legal: Legal) -> int:
        return len(legal) - len(self.plain) if isinstance(legal, tuple) and legal else -1


class Vocabulary(Commands):
    """Queries from a fixed list of words; `legal` is None (all commands), or () for none."""

    def __init__(self, mode: str, words: Sequence[str]) -> None:
        super().__init__(mode, len(words))
        self.words = tuple(words)
        self.numbers = {word: i for i, word in enumerate(self.words)}

    def text(self, i: int, legal: Legal = None) -> str:
        if not 0 <= i < len(self):
            raise IndexError(f"action {i} is not in 0..{len(self) - 1}")
        m = len(self.plain)
        return self.plain[i] if i < m else text_of(SEARCH, self.words[i - m])

    def index(self, text: str, legal: Legal = None) -> int | None:
        verb, space, query = text.partition(" ")
        if verb == SEARCH and space:
            number = self.numbers.get(query)
            return None if number is None else len(self.plain) + number
        return self.plain.index(text) if text in self.plain else None

    def contains(self, legal: Legal, i: int) -> bool:
        return legal is None and 0 <= i < len(self)

    def draw(self, legal: Legal, rng: np.random.Generator) -> int:
        if legal is not None:
            raise LookupError("no action is legal")
        return int(rng.integers(len(self)))

    def mask(self, legal: Legal) -> NDArray[np.bool_]:
        if len(self) > MASK_LIMIT:
            return super().mask(legal)
        return np.full(len(self), legal is None)

    def legal_queries(self, legal: Legal) -> int:
        return self.size if legal is None else -1
