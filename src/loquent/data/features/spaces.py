"""The space of all texts; Gymnasium's own `Text` needs a list of allowed characters."""

from __future__ import annotations

import string
import sys
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np
from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_shared_memory

from loquent.errors import BadRow

PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " \n"
SAMPLED = 64  # the largest number of characters in a sample


class _AllCharacters(Sequence[str]):
    """All code points in order, without a list in memory."""

    def __len__(self) -> int:
        return sys.maxunicode + 1

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[str]: ...
    def __getitem__(self, i: int | slice) -> str | Sequence[str]:
        if isinstance(i, slice):
            return [chr(n) for n in range(*i.indices(len(self)))]
        return chr(i)

    def __contains__(self, char: object) -> bool:
        return isinstance(char, str) and len(char) == 1

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _AllCharacters)

    def __hash__(self) -> int:
        return hash(_AllCharacters)


class AnyText(spaces.Text):
    """All texts of at most `max_length` characters.

    A sample has up to 64 printable characters. The index of a character is its code point.
    """

    def __init__(self, max_length: int, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=PRINTABLE, seed=seed)

    def contains(self, x: Any) -> bool:
        """Whether `x` is a text of at most `max_length` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short printable text; with a mask, a draw of Gymnasium's `Text` from printable characters."""
        if mask is not None or probability is not None:
            printable = spaces.Text(self.max_length, min_length=0, charset=PRINTABLE, seed=self.np_random)
            return str(printable.sample(mask, probability))
        size = int(self.np_random.integers(0, min(SAMPLED, self.max_length) + 1))
        return "".join(PRINTABLE[i] for i in self.np_random.integers(len(PRINTABLE), size=size))

    @property
    def character_set(self) -> Any:
        """All characters."""
        return _AllCharacters()

    @property
    def character_list(self) -> Any:
        """All characters, in order."""
        return _AllCharacters()

    def character_index(self, char: str) -> np.int32:
        """The code point of a character."""
        return np.int32(ord(char))

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((AnyText, self.max_length))


def check_lengths(what: str, texts: Iterable[str], most: int) -> None:
    """Raise BadRow when a text of a row has more than `most` characters, the limit of its space."""
    for text in texts:
        if len(text) > most:
            raise BadRow(
                f"{what} has {len(text):,} characters ({text[:20]!r}...); a dictionary shows at most "
                f"{most:,}. Shorten it, or use another view: 'vector', or 'text' with a larger "
                "max_observation"
            )


@create_shared_memory.register(AnyText)
def _refuse_shared_memory(space: AnyText, n: int = 1, ctx: Any = None) -> Any:
    """Refuse shared memory: Gymnasium (1.4) would read a text once and show it at every later step."""
    raise CustomSpaceError('texts cannot use shared memory; pass vector_kwargs={"shared_memory": False}')
