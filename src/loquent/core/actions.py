"""Action sets: the numbered actions of a task, each with a text, and the actions that are legal in a state.

`Legal` is a small hashable value from which an action set computes the legal actions: a board, a tuple of
ids, or a bitset in bytes; never an array. `index` and `text` are inverse functions; for `Slots` they are
inverse for a fixed `legal`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.errors import LoquentError, require

Legal = Hashable
MASK_LIMIT = 100_000  # a larger set has no dense mask; use `contains`, `draw` or `parts`


class ActionSet(ABC):
    """A numbered set of texts; `parts` has the sizes of its factors."""

    @property
    def parts(self) -> tuple[int, ...]:
        """The sizes of the factors whose product covers the set; `(len(self),)` for a set without factors."""
        return (len(self),)

    def split(self, i: int) -> tuple[int, ...]:
        """The numbers of action `i` in the parts, in order; an action may leave out the last parts."""
        return (i,)

    def join(self, numbers: Sequence[int]) -> int:
        """The action with these numbers in the parts; the inverse of `split`."""
        [i] = numbers
        return i

    def following(self, legal: Legal, numbers: Sequence[int]) -> NDArray[np.bool_]:
        """bool[parts[k]]: the numbers of part k = len(numbers) in legal actions that begin with `numbers`.

        It is all False if no legal action begins so, and empty if `numbers` is a whole action.
        """
        return np.zeros(0, dtype=np.bool_) if numbers else self.mask(legal)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def text(self, i: int, legal: Legal = None) -> str:
        """The text of action `i`; IndexError when no such action exists."""

    @abstractmethod
    def index(self, text: str, legal: Legal = None) -> int | None:
        """The number of the action with exactly this text, or None."""

    @abstractmethod
    def contains(self, legal: Legal, i: int) -> bool:
        """Whether action `i` is legal."""

    @abstractmethod
    def draw(self, legal: Legal, rng: np.random.Generator) -> int:
        """A legal action, drawn uniformly; LookupError when no action is legal."""

    def asks_text(self, legal: Legal) -> bool:
        """Whether the task asks for a text here instead of an action, so that none is legal; else False."""
        return False

    def legal_texts(self, legal: Legal) -> tuple[str, ...]:
        """The texts of all legal actions, in order."""
        return tuple(self.text(i, legal) for i in range(len(self)) if self.contains(legal, i))

    def mask(self, legal: Legal) -> NDArray[np.bool_]:
        """bool[n]: True for legal actions.

        Raises:
            LoquentError: the set has more than 100,000 actions; use `contains`, `draw` or `parts`.
        """
        if len(self) > MASK_LIMIT:
            raise LoquentError(
                f"a mask must have at most {MASK_LIMIT:,} actions, got {len(self):,}; use contains, draw or "
                "parts"
            )
        return np.fromiter(
            (self.contains(legal, i) for i in range(len(self))), dtype=np.bool_, count=len(self)
        )


class Texts(ActionSet):
    """A fixed list of distinct texts; `legal` is None (all actions) or a bitset made by `bitset`."""

    def __init__(self, texts: Iterable[str]) -> None:
        require(texts, Iterable, "texts", "a list of texts")
        self.texts = tuple(texts)
        odd = next((text for text in self.texts if not isinstance(text, str)), "")
        require(odd, str, "an action of texts", "a text")
        self._index = {text: i for i, text in enumerate(self.texts)}
        if len(self._index) != len(self.texts):
            repeated = next(text for i, text in enumerate(self.texts) if self._index[text] != i)
            raise LoquentError(f"the texts of an action set must be distinct, got {repeated!r:.80} twice")

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
        return self.following(legal, ())

    def following(self, legal: Legal, numbers: Sequence[int]) -> NDArray[np.bool_]:
        if numbers:
            return np.zeros(0, dtype=np.bool_)
        return np.ones(len(self), dtype=np.bool_) if legal is None else self._bits(legal)

    def _bits(self, legal: Legal) -> NDArray[np.bool_]:
        packed = np.frombuffer(_bytes(legal), dtype=np.uint8)
        bits: NDArray[np.bool_] = np.unpackbits(packed, bitorder="little", count=len(self.texts)).astype(
            np.bool_
        )
        return bits


class Slots(ActionSet):
    """At most `size` numbered slots whose texts change from turn to turn.

    `legal` is the tuple of the current texts of the slots.
    """

    def __init__(self, size: int) -> None:
        require(size, int, "size", "a number of slots")
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
    """The `legal` value of a `Texts` set for these legal actions: one bit per action, little-endian."""
    bits = np.zeros(size, dtype=np.bool_)
    bits[list(indices)] = True
    return np.packbits(bits, bitorder="little").tobytes()


def _bytes(legal: Legal) -> bytes:
    if not isinstance(legal, bytes):
        raise TypeError(f"legal must be a bitset in bytes, or None for all actions, got {legal!r:.80}")
    return legal


def _texts(legal: Legal) -> Sequence[str]:
    if not isinstance(legal, tuple):
        raise LoquentError(
            f"legal of a slot set must be the tuple of texts that are legal now, got {legal!r:.80}"
        )
    return legal
