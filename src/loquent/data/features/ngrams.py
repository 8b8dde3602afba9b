"""Hashed n-grams of characters and words: vectors of any text, without a download, vocabulary or training."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from loquent.core.settings import check_ranges, setting
from loquent.data.features.base import Featurizer, Vectors
from loquent.errors import BadSetting

WORD = re.compile(r"\w+(?:['’\-.]\w+)*|[^\w\s]+")
KNOWN_WORDS = 200_000  # the size limit of the cache of words; a full cache is emptied

Places = tuple[NDArray[np.int64], NDArray[np.float64]]  # the indices of n-grams, and their signs


@dataclass(frozen=True, kw_only=True)
class Hashed(Featurizer):
    """The sum of a text's n-grams: each hash gives an index and a sign (arXiv:0902.2206, eq. 2).

    Each word, between the marks < and >, gives its n-grams of `characters`, and the word itself. A text of
    several words also gives n-grams of `words`. Each sum x becomes sign(x) sqrt(|x|); then the vector is
    scaled to length 1, or is 0 for a blank text. The hash is BLAKE2, which is the same in every process.
    """

    dimension: int = setting(512, "the length of the vectors", low=8, high=1 << 20)  # type: ignore[assignment]  # a setting stands in for a property
    characters: tuple[int, ...] = setting((2, 3, 4), "the lengths of character n-grams, within a word")
    words: tuple[int, ...] = setting((2,), "the lengths of word n-grams, in addition to single words")
    lower: bool = setting(False, "lower-case the text")

    def __post_init__(self) -> None:
        check_ranges(self)
        for name in ("characters", "words"):
            lengths = getattr(self, name)
            if not all(
                isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= 10 for n in lengths
            ) or len(set(lengths)) < len(lengths):
                raise BadSetting(f"Hashed.{name} = {lengths!r}; it must hold different integers from 1 to 10")

    @property
    def bound(self) -> float:
        """A vector has length 1, up to rounding."""
        return 1.001

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension], each of length 1 or 0."""
        sums = np.zeros((len(texts), self.dimension))
        for row, text in zip(sums, texts, strict=True):
            row[:] = self._sum(text.lower() if self.lower else text)
        sums = np.sign(sums) * np.sqrt(np.abs(sums))
        length = np.sqrt((sums**2).sum(1, keepdims=True))
        return (sums / np.where(length > 0, length, 1)).astype(np.float32)

    def _sum(self, text: str) -> NDArray[np.float64]:
        """float64[dimension]: the sum of the signs at each index."""
        pieces = text.split()
        # A single token is not split at punctuation
        words = pieces if len(pieces) < 2 else WORD.findall(text)
        parts = [
            (places, signs * count)
            for word, count in Counter(words).items()
            for places, signs in [self._word(word)]
        ]
        if len(words) > 1:
            parts.append(
                self._places(
                    (f"w{n}", "\0".join(words[i : i + n]))
                    for n in self.words
                    for i in range(len(words) - n + 1)
                )
            )
        if not parts:
            return np.zeros(self.dimension)
        places, signs = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        sums = np.bincount(places, signs, self.dimension)
        return sums.astype(np.float64, copy=False)

    def _word(self, word: str) -> Places:
        """The places of a word and its n-grams, cached by word."""
        places = self._by_word.get(word)
        if places is None:
            marked = f"<{word}>"
            grams = (
                (f"c{n}", marked[i : i + n]) for n in self.characters for i in range(len(marked) - n + 1)
            )
            places = self._places([("word", word), *grams])
            if len(self._by_word) >= KNOWN_WORDS:
                self._by_word.clear()
            self._by_word[word] = places
        return places

    def _places(self, grams: Iterable[tuple[str, str]]) -> Places:
        keys = [f"{kind}\0{gram}".encode("utf-8", "surrogatepass") for kind, gram in grams]
        numbers = np.frombuffer(b"".join(blake2b(key, digest_size=8).digest() for key in keys), dtype="<u8")
        return (numbers >> np.uint64(1)).astype(np.int64) % self.dimension, (numbers & np.uint64(1)).astype(
            np.float64
        ) * 2 - 1

    @cached_property
    def _by_word(self) -> dict[str, Places]:
        return {}
