"""Word vectors from a file: GloVe, fastText, word2vec, or an array of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loquent.features import files
from loquent.features.base import Featurizer, Vectors
from loquent.features.hashed import WORD
from loquent.settings import check_ranges, setting

DIGIT = re.compile(r"\d")


@dataclass(frozen=True, kw_only=True)
class WordVectors(Featurizer):
    """The vector of a word; for a text the mean over those of its words that have one; zeros where none has.

    A word is looked up as it stands, in small letters, then with its digits as `#` and as `0` (the order of flair, whose vectors the
    paper used); one that is not found is cut at its punctuation. The file is read when the first text comes.
    """

    path: str = setting(why="the file: .vec or .txt (also .gz), word2vec's .bin, or .npy")
    words: str = setting("", "for .npy: the file with one word a line; empty: the same name with .words.txt")
    limit: int = setting(0, "only the first so many words of the file; 0: all", low=0)
    scale: float = setting(1.0, "all vectors are multiplied by this", low=0.0)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def dimension(self) -> int:
        """The length of the file's vectors."""
        return int(self._table[1].shape[1])

    @cached_property
    def bound(self) -> float:
        """The largest number of the file, in size."""
        return float(np.abs(self._table[1]).max()) * self.scale

    @cached_property
    def reads(self) -> str:
        """A hash of the file, and of the words of an array."""
        beside = self.words or (self.path.removesuffix(".npy") + ".words.txt" if self.path.endswith(".npy") else "")
        return files.hashed(*([self.path, beside] if beside else [self.path]))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension]."""
        vectors = self._table[1]
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            places = list(self._places(text))
            if places:
                row[:] = vectors[places].mean(0) * self.scale
        return self.clipped(found)

    def knows(self, word: str) -> bool:
        """Whether the file has a vector for a word, in one of the forms that are looked up."""
        return self._place(word) is not None

    def _places(self, text: str) -> Iterator[int]:
        for token in text.split():
            place = self._place(token)
            if place is not None:
                yield place
                continue
            yield from (at for piece in WORD.findall(token) for part in re.split(r"['’\-.]", piece) if (at := self._place(part)) is not None)

    def _place(self, word: str) -> int | None:
        known, lower = self._table[0], word.lower()
        forms = (word, lower, DIGIT.sub("#", lower), DIGIT.sub("0", lower))
        return next((known[form] for form in forms if form in known), None)

    @cached_property
    def _table(self) -> files.Table:
        return files.read(self.path, self.words, self.limit)
