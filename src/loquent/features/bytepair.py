"""Byte-pair embeddings: every word is cut into pieces that have vectors, so no word is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loquent.errors import BadRow, MissingExtra
from loquent.features import files
from loquent.features.base import Featurizer, Vectors
from loquent.features.vectors import DIGIT
from loquent.settings import check_ranges, setting

BEGIN = "▁"  # stands for the space before a word, in the pieces of SentencePiece


@dataclass(frozen=True, kw_only=True)
class BytePair(Featurizer):
    """Vectors of the pieces of words, as BPEmb publishes them; a text has the mean over its words.

    The pieces come from BPEmb's `.vocab` (a piece and its score a line; pairs are merged in the order of their scores) or from a
    `tokenizer.json`. Words are read in small letters with their digits as 0, as BPEmb's were.
    """

    pieces: str = setting(why="BPEmb's .vocab file, or a tokenizer.json")
    vectors: str = setting(why="the vectors of the pieces: .txt, .vec (also .gz), .bin or .npy")
    pooling: str = setting(
        "ends", "a word's vector: its first and its last piece side by side, or the mean of all", choices=("ends", "mean"), source="flair"
    )
    lower: bool = setting(True, "words are read in small letters, with digits as 0")

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def dimension(self) -> int:
        """The length of a piece's vector, twice that for `ends`."""
        return int(self._table[1].shape[1]) * (2 if self.pooling == "ends" else 1)

    @cached_property
    def bound(self) -> float:
        """The largest number of the file, in size."""
        return float(np.abs(self._table[1]).max())

    @cached_property
    def reads(self) -> str:
        """A hash of both files."""
        return files.hashed(self.pieces, self.vectors)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension]; a word none of whose pieces has a vector counts as zeros."""
        found = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(found, texts, strict=True):
            words = text.split()
            if words:
                row[:] = np.mean([self._word(word) for word in words], axis=0)
        return self.clipped(found)

    def cut(self, word: str) -> list[str]:
        """The pieces of one word."""
        return self._cutter(DIGIT.sub("0", word.lower()) if self.lower else word)

    def _word(self, word: str) -> Vectors:
        known, vectors = self._table
        rows = [vectors[known[piece]] if piece in known else np.zeros(vectors.shape[1], np.float32) for piece in self.cut(word)]
        if not rows:
            return np.zeros(self.dimension, np.float32)
        return np.concatenate([rows[0], rows[-1]]) if self.pooling == "ends" else np.mean(rows, axis=0, dtype=np.float32)

    @cached_property
    def _table(self) -> files.Table:
        return files.read(self.vectors)

    @cached_property
    def _cutter(self) -> Callable[[str], list[str]]:
        place = files.existing(self.pieces)
        if place.suffix == ".json":
            return _tokenizer(str(place))
        scores: dict[str, float] = {}
        for number, line in files.text_lines(place):
            piece, _, score = line.partition("\t")
            try:
                scores[piece] = float(score)
            except ValueError:
                raise BadRow(f"this line is no piece with a tab and its score behind it: {line[:60]!r}", file=place, line=number) from None
        return lambda word: merged(BEGIN + word, scores)


def merged(word: str, scores: Mapping[str, float]) -> list[str]:
    """A word in pieces: of the neighbours whose union is a piece, those of the highest score are joined first, the leftmost of equals."""
    parts = list(word)
    while True:
        pairs = [(scores[union], -i) for i in range(len(parts) - 1) if (union := parts[i] + parts[i + 1]) in scores]
        if not pairs:
            return parts
        i = -max(pairs)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def _tokenizer(path: str) -> Callable[[str], list[str]]:
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise MissingExtra("byte-pair embeddings by a tokenizer.json", "train") from error
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as error:  # the library raises a bare Exception for what is no tokenizer
        raise BadRow(f"this is no tokenizer ({error})", file=path) from error
    return lambda word: list(tokenizer.encode(word, add_special_tokens=False).tokens)
