"""Numbered commands: a flat number, or a factored pair of command and query.

The numbers of the commands without a query come first, in the order of `commands.COMMANDS`; number m + j is
the search for query j. The factored pair of a number i is (i, 0) for i < m, else (m, i - m).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.core.actions import MASK_LIMIT, ActionSet, Legal
from loquent.errors import LoquentError
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

    def pair(self, i: int) -> tuple[int, int]:
        """(command, query) of a number; the query of a command without one is 0."""
        m = len(self.plain)
        return (i, 0) if i < m else (m, i - m)

    def number(self, command: int, query: int = 0) -> int:
        """The number of a pair (command, query); IndexError when there is no such pair."""
        if not (0 <= command < self.parts[0] and 0 <= query < self.size):
            raise IndexError(f"({command}, {query}) is no pair of {self.parts} commands and queries")
        return command if command < len(self.plain) else command + query


class Slots(Commands):
    """Queries that change from turn to turn; `legal` is the tuple of the texts of the legal commands.

    The plain commands come first; an empty tuple means that no command is legal.
    """

    def text(self, i: int, legal: Legal = None) -> str:
        if i < 0:
            raise IndexError(f"action {i} is not in 0..{len(self) - 1}")
        return _texts(legal)[i]

    def index(self, text: str, legal: Legal = None) -> int | None:
        texts = _texts(legal)
        return texts.index(text) if text in texts else None

    def contains(self, legal: Legal, i: int) -> bool:
        return 0 <= i < len(_texts(legal))

    def draw(self, legal: Legal, rng: np.random.Generator) -> int:
        if not _texts(legal):
            raise LookupError("no action is legal")
        return int(rng.integers(len(_texts(legal))))

    def mask(self, legal: Legal) -> NDArray[np.bool_]:
        return np.arange(len(self)) < len(_texts(legal))


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


def _texts(legal: Legal) -> tuple[str, ...]:
    if not isinstance(legal, tuple):
        raise LoquentError(f"legal must be the tuple of the texts of the legal commands, got {legal!r:.80}")
    return legal
