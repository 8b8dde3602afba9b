"""Sets of actions that have a text each: what a task with a closed choice offers, and what is legal now.

`Legal` is any small hashable value from which the set can compute (a board, a tuple of ids, a bitset in
bytes); it is never an array. `index` and `text` are a bijection; for slot sets a bijection given `legal`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.errors import LoquentError

Legal = Hashable
MASK_LIMIT = 100_000  # a dense mask above this is refused: an action set that large is used by its parts


class ActionSet(ABC):
    """A numbered set of texts. `parts` gives the sizes of factored heads; one part means a flat choice."""

    @property
    def parts(self) -> tuple[int, ...]:
        """Sizes of the factors whose product covers the set; `(len(self),)` when it does not factor."""
        return (len(self),)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def text(self, i: int, legal: Legal = None) -> str:
        """The text of action `i`; IndexError when there is none."""

    @abstractmethod
    def index(self, text: str, legal: Legal = None) -> int | None:
        """The number of the action that reads exactly so, or None."""

    @abstractmethod
    def contains(self, legal: Legal, i: int) -> bool:
        """Whether action `i` is legal."""

    @abstractmethod
    def draw(self, legal: Legal, rng: np.random.Generator) -> int:
        """One legal action, uniformly; LookupError when none is legal."""

    def mask(self, legal: Legal) -> NDArray[np.bool_]:
        """bool[n]: True where legal.

        Refused above 100,000 actions, where only `contains`, `draw` and `parts` serve.
        """
        if len(self) > MASK_LIMIT:
            raise LoquentError(
                f"a mask over {len(self):,} actions is refused (limit {MASK_LIMIT:,}); use contains, "
                "draw or parts"
            )
        return np.fromiter(
            (self.contains(legal, i) for i in range(len(self))), dtype=np.bool_, count=len(self)
        )


class Texts(ActionSet):
    """A fixed list of distinct texts. Legal: None (all), or a bitset in bytes made by `bitset`."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        self._index = {text: i for i, text in enumerate(self.texts)}
        if len(self._index) != len(self.texts):
            raise LoquentError("the texts of an action set must be distinct")

    def __len__(self) -> int:
        return len(self.texts)

    def text(self, i: int, legal: Legal = None) -> str:
        if not 0 <= i < len(self.texts):
            raise IndexError(f"action {i} is not in 0..{len(self.texts) - 1}")
        return self.texts[i]

    def index(self, text: str, legal: Legal = None) -> int | None:
        return self._index.get(text)

    def contains(self, legal: Legal, i: int) -> bool:
        if not 0 <= i < len(self.texts):
            return False
        return legal is None or bool(_bytes(legal)[i >> 3] >> (i & 7) & 1)

    def draw(self, legal: Legal, rng: np.random.Generator) -> int:
        if legal is None:
            return int(rng.integers(len(self.texts)))
        choices = np.flatnonzero(self._bits(legal))
        if not len(choices):
            raise LookupError("no action is legal")
        return int(choices[rng.integers(len(choices))])

    def mask(self, legal: Legal) -> NDArray[np.bool_]:
        if len(self) > MASK_LIMIT:
            return super().mask(legal)
        return np.ones(len(self), dtype=np.bool_) if legal is None else self._bits(legal)

    def _bits(self, legal: Legal) -> NDArray[np.bool_]:
        packed = np.frombuffer(_bytes(legal), dtype=np.uint8)
        bits: NDArray[np.bool_] = np.unpackbits(packed, bitorder="little", count=len(self.texts)).astype(
            np.bool_
        )
        return bits


class Slots(ActionSet):
    """At most `size` numbered places whose texts change from turn to turn.

    Legal: the tuple of texts now in the places.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    def __len__(self) -> int:
        return self.size

    def text(self, i: int, legal: Legal = None) -> str:
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


def bitset(indices: Iterable[int], size: int) -> bytes:
    """The legal value of a `Texts` set in which just these actions are legal: one bit each, little end
    first.
    """
    bits = np.zeros(size, dtype=np.bool_)
    bits[list(indices)] = True
    return np.packbits(bits, bitorder="little").tobytes()


def _bytes(legal: Legal) -> bytes:
    if not isinstance(legal, bytes):
        raise TypeError(f"legal = {legal!r:.80}; a bitset in bytes, or None for all actions, is right")
    return legal


def _texts(legal: Legal) -> Sequence[str]:
    if not isinstance(legal, tuple):
        raise LoquentError(f"a slot set needs the tuple of texts that are legal now, not {legal!r}")
    return legal
