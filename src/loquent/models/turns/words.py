"""Sentences as numbers of words: the vocabulary of a task's training rows."""

from __future__ import annotations

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards import tokenizer_files
from loquent.core.values import digest

WORD = re.compile(r"\w+|[^\w\s]")
UNKNOWN = 32  # buckets of words that training rows do not have
CACHED = 50_000  # sentences


class _Numbers(ABC):
    """The numbers of a sentence's parts, of at most `length` of them; cached by sentence."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._cache: dict[str, NDArray[np.int64]] = {}

    def __call__(self, text: str) -> NDArray[np.int64]:
        """i64[length]: the numbers, with zeros at the end; read-only."""
        numbers = self._cache.get(text)
        if numbers is None:
            known = self._known(text)
            numbers = np.zeros(self.length, dtype=np.int64)
            numbers[: len(known)] = known
            numbers.flags.writeable = False
            if len(self._cache) >= CACHED:
                self._cache.clear()
            self._cache[text] = numbers
        return numbers

    @abstractmethod
    def _known(self, text: str) -> list[int]:
        """The numbers without zeros."""


class Vocabulary(_Numbers):
    """Words and their numbers: 0 is padding, then `UNKNOWN` buckets of other words, then the words.

    Args:
        texts: the sentences whose words are known, in any order.
        length: the words of a sentence that are read at most.
    """

    def __init__(self, texts: Iterable[str], length: int) -> None:
        self.words = tuple(sorted({word for text in set(texts) for word in words(text)}))
        super().__init__(length)
        self._numbers = {word: 1 + UNKNOWN + i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return 1 + UNKNOWN + len(self.words)

    @property
    def identity(self) -> str:
        """A hash of the words in their order, and of the length."""
        return digest((self.words, self.length))

    def _known(self, text: str) -> list[int]:
        return [self._number(word) for word in words(text)[: self.length]]

    def _number(self, word: str) -> int:
        return self._numbers.get(word) or 1 + zlib.crc32(word.encode("utf-8", "replace")) % UNKNOWN


def words(text: str) -> list[str]:
    """The words and the punctuation marks of a text, in lower case."""
    return WORD.findall(text.lower())


class Pieces(_Numbers):
    """The word pieces of a pretrained tokenizer, in place of a `Vocabulary`: the number of a piece is id + 1.

    Args:
        path, revision: a Hugging Face name, or a folder with a tokenizer.
        length: the pieces of a sentence that are read at most, special ones included.
    """

    def __init__(self, path: str, revision: str, length: int) -> None:
        from loquent.pretrained.language import load_tokenizer  # the library of networks takes seconds

        self.tokenizer = load_tokenizer(path, revision or None)
        super().__init__(length)
        self.identity = digest((path, revision, length))

    def __len__(self) -> int:
        return 1 + len(self.tokenizer)

    def _known(self, text: str) -> list[int]:
        with tokenizer_files.encoding(self.tokenizer, [text]):
            return [1 + i for i in self.tokenizer(text, truncation=True, max_length=self.length)["input_ids"]]
