"""Hashed n-grams of characters and words: vectors of any text without a download, a vocabulary or training."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadSetting
from loquent.features.base import Featurizer, Vectors
from loquent.settings import check_ranges, setting

WORD = re.compile(r"\w+(?:['’\-.]\w+)*|[^\w\s]+")
KNOWN_WORDS = 200_000  # whose places are kept; then all are forgotten

Places = tuple[NDArray[np.int64], NDArray[np.float64]]  # where n-grams stand, and their signs


@dataclass(frozen=True, kw_only=True)
class Hashed(Featurizer):
    """The n-grams of a text, each added with its sign at the place its hash names (arXiv:0902.2206, eq. 2).

    Of every word, with its ends marked: the n-grams of `characters`, and the word itself; of a text of several words also the n-grams of
    `words`. Sums are damped by their square root, and a vector has length 1, or 0 for a text of spaces. Hashes are BLAKE2's, the same
    in every process.
    """

    dimension: int = setting(512, "length of the vectors", low=8, high=1 << 20)  # type: ignore[assignment]
    characters: tuple[int, ...] = setting((2, 3, 4), "lengths of the n-grams of characters, within a word")
    words: tuple[int, ...] = setting((2,), "lengths of the n-grams of words, beside the words themselves")
    lower: bool = setting(False, "whether capitals count as small letters")

    def __post_init__(self) -> None:
        check_ranges(self)
        for name in ("characters", "words"):
            lengths = getattr(self, name)
            if not all(isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= 10 for n in lengths) or len(set(lengths)) < len(lengths):
                raise BadSetting(f"Hashed.{name} = {lengths!r}: different whole numbers from 1 to 10 are right")

    @property
    def bound(self) -> float:
        """A vector has length 1, give or take a rounding."""
        return 1.001

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension], each of length 1 or 0."""
        found = np.zeros((len(texts), self.dimension))
        for row, text in zip(found, texts, strict=True):
            row[:] = self._sum(text.lower() if self.lower else text)
        found = np.sign(found) * np.sqrt(np.abs(found))
        length = np.sqrt((found**2).sum(1, keepdims=True))
        return (found / np.where(length > 0, length, 1)).astype(np.float32)

    def _sum(self, text: str) -> NDArray[np.float64]:
        """float64[dimension]: the sum of the signs at each place."""
        pieces = text.split()
        words = pieces if len(pieces) < 2 else WORD.findall(text)  # one token stays whole, whatever it holds
        parts = [(places, signs * count) for word, count in Counter(words).items() for places, signs in [self._word(word)]]
        if len(words) > 1:
            parts.append(self._places((f"w{n}", "\0".join(words[i : i + n])) for n in self.words for i in range(len(words) - n + 1)))
        if not parts:
            return np.zeros(self.dimension)
        sums = np.bincount(np.concatenate([at for at, _ in parts]), np.concatenate([sign for _, sign in parts]), self.dimension)
        return sums.astype(np.float64, copy=False)

    def _word(self, word: str) -> Places:
        """Where a word and its n-grams stand; kept, since words come back."""
        found = self._known.get(word)
        if found is None:
            marked = f"<{word}>"
            grams = ((f"c{n}", marked[i : i + n]) for n in self.characters for i in range(len(marked) - n + 1))
            found = self._places([("word", word), *grams])
            if len(self._known) >= KNOWN_WORDS:
                self._known.clear()
            self._known[word] = found
        return found

    def _places(self, grams: Iterable[tuple[str, str]]) -> Places:
        named = [f"{kind}\0{gram}".encode("utf-8", "surrogatepass") for kind, gram in grams]
        numbers = np.frombuffer(b"".join(blake2b(name, digest_size=8).digest() for name in named), dtype="<u8")
        return (numbers >> np.uint64(1)).astype(np.int64) % self.dimension, (numbers & np.uint64(1)).astype(np.float64) * 2 - 1

    @cached_property
    def _known(self) -> dict[str, Places]:
        return {}
