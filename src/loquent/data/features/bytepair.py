"""Byte-pair embeddings: a word is split into pieces with vectors, so no word is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from loquent.core.guards import tokenizer_files
from loquent.core.settings import check_ranges, setting
from loquent.data.features import files
from loquent.data.features.base import Featurizer, Vectors
from loquent.data.features.vectors import DIGIT
from loquent.errors import BadRow

BEGIN = "▁"  # the space before a word in SentencePiece's pieces


@dataclass(frozen=True, kw_only=True)
class BytePair(Featurizer):
    """Vectors of the pieces of words, as BPEmb publishes them; a text's vector is the mean over its words.

    The pieces come from BPEmb's `.vocab` (one piece and its score per line; the score decides the order of
    merges) or from a `tokenizer.json`. Words are lower-cased and their digits become 0, as in BPEmb's
    training data.
    """

    pieces: str = setting(why="BPEmb's .vocab file, or a tokenizer.json")
    vectors: str = setting(why="the vectors of the pieces: .txt, .vec (also .gz), .bin or .npy")
    pooling: str = setting(
        "ends",
        "a word's vector: its first and last piece, concatenated, or the mean of all",
        choices=("ends", "mean"),
        source="flair",
    )
    lower: bool = setting(True, "lower-case the words, and replace their digits by 0")

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def dimension(self) -> int:
        """The length of a piece's vector; with `ends` twice this length."""
        return int(self._table[1].shape[1]) * (2 if self.pooling == "ends" else 1)

    @cached_property
    def bound(self) -> float:
        """The largest absolute value in the file."""
        return float(np.abs(self._table[1]).max())

    @cached_property
    def reads(self) -> str:
        """A hash of both files."""
        return files.hash_files(self.pieces, self.vectors)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32[n, dimension]; a word without a known piece counts as zeros."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            words = text.split()
            if words:
                row[:] = np.mean([self._word(word) for word in words], axis=0)
        return self.clip_vectors(vectors)

    def cut(self, word: str) -> list[str]:
        """The pieces of one word."""
        return self._cutter(DIGIT.sub("0", word.lower()) if self.lower else word)

    def _word(self, word: str) -> Vectors:
        places, vectors = self._table
        rows = [
            vectors[places[piece]] if piece in places else np.zeros(vectors.shape[1], np.float32)
            for piece in self.cut(word)
        ]
        if not rows:
            return np.zeros(self.dimension, np.float32)
        return (
            np.concatenate([rows[0], rows[-1]])
            if self.pooling == "ends"
            else np.mean(rows, axis=0, dtype=np.float32)
        )

    @cached_property
    def _table(self) -> files.Table:
        _ = self.reads, self._cutter  # the identity is of what is read now
        return files.read(self.vectors)

    @cached_property
    def _cutter(self) -> Callable[[str], list[str]]:
        path = files.existing(self.pieces)
        if path.suffix == ".json":
            return _tokenizer(path)
        scores: dict[str, float] = {}
        for number, line in files.text_lines(path):
            piece, _, score = line.partition("\t")
            try:
                scores[piece] = float(score)
            except ValueError:
                why = f"this line is {line[:60]!r}; it must hold a piece, a tab and the piece's score"
                raise BadRow(why, file=path, line=number) from None
        return lambda word: merge_pieces(BEGIN + word, scores)


def merge_pieces(word: str, scores: Mapping[str, float]) -> list[str]:
    """The pieces of a word.

    Repeatedly merges the neighbours whose union has the highest score, the leftmost of equal scores.
    """
    parts = list(word)
    while True:
        pairs = [
            (scores[union], -i) for i in range(len(parts) - 1) if (union := parts[i] + parts[i + 1]) in scores
        ]
        if not pairs:
            return parts
        i = -max(pairs)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def _tokenizer(path: Path) -> Callable[[str], list[str]]:
    tokenizer = tokenizer_files.load(path, "byte-pair embeddings by a tokenizer.json")

    def cut(word: str) -> list[str]:
        with tokenizer_files.encoding(tokenizer, [word], path):
            return list(tokenizer.encode(word, add_special_tokens=False).tokens)

    return cut
