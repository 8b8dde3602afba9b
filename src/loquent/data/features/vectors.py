"""Word vectors from a file: GloVe, fastText, word2vec, or your own array."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loquent.core.settings import check_ranges, setting
from loquent.data.features import files
from loquent.data.features.base import Featurizer, Vectors
from loquent.data.features.ngrams import WORD

DIGIT = re.compile(r"\d")


@dataclass(frozen=True, kw_only=True)
class WordVectors(Featurizer):
    """The vector of a word; for a text the mean over its words with a vector, or zeros if there are none.

    The lookup tries a word as it is, lower-cased, then with its digits as `#` and as `0`. This is the order
    of flair, whose vectors the paper used. A word without a vector is split at its punctuation. The file is
    read at the first text.
    """

    path: str = setting(why="the file: .vec or .txt (also .gz), word2vec's .bin, or .npy")
    words: str = setting(
        "", "for .npy: the file with one word per line; empty: the same name with .words.txt"
    )
    limit: int = setting(0, "the number of words to read from the beginning of the file; 0: all", low=0)
    scale: float = setting(1.0, "a factor for all vectors", low=0.0)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def dimension(self) -> int:
        """The length of the file's vectors."""
        return int(self._table[1].shape[1])

    @cached_property
    def bound(self) -> float:
        """The largest absolute value in the file, times `scale`."""
        return float(np.abs(self._table[1]).max()) * self.scale

    @cached_property
    def reads(self) -> str:
        """A hash of the file, and of an array's word list."""
        words = self.words or (
            self.path.removesuffix(".npy") + ".words.txt" if self.path.endswith(".npy") else ""
        )
        return files.hash_files(*([self.path, words] if words else [self.path]))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension]."""
        table = self._table[1]
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            places = list(self._places(text))
            if places:
                row[:] = table[places].mean(0) * self.scale
        return self.clip_vectors(vectors)

    def knows(self, word: str) -> bool:
        """Whether the file has a vector for a word, in one of the forms of the lookup."""
        return self._place(word) is not None

    def _places(self, text: str) -> Iterator[int]:
        for token in text.split():
            place = self._place(token)
            if place is not None:
                yield place
                continue
            yield from (
                at
                for piece in WORD.findall(token)
                for part in re.split(r"['’\-.]", piece)
                if (at := self._place(part)) is not None
            )

    def _place(self, word: str) -> int | None:
        places, lower = self._table[0], word.lower()
        forms = (word, lower, DIGIT.sub("#", lower), DIGIT.sub("0", lower))
        return next((places[form] for form in forms if form in places), None)

    @cached_property
    def _table(self) -> files.Table:
        _ = self.reads  # the identity is of what is read now
        return files.read(self.path, self.words, self.limit)
