"""Words as they are written: their numbers, characters and fixed vectors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from loquent.core.guards.opening import open_bytes, raw_lines
from loquent.core.seeding import Key
from loquent.core.values import digest
from loquent.errors import BadSetting

PAD, UNKNOWN = 0, 1  # of characters; number 0 of words is padding
LONGEST = 16  # characters of a word that are read
CACHED = 200_000  # texts
VECTORS = Key(0, ("word vectors",))


class Lexicon:
    """Numbers of words from 1 on, by first use; a word outside the training rows has its own number, too.

    Args:
        words: the words of the training rows, in order. Word i of them has the row i + 1 of a query head; all
            other words share row 0.
        size: the size of a word's vector.
        vectors: a text file of vectors, or empty for random ones.

    Raises:
        BadSetting: the file cannot be read, or has vectors of another size.
    """

    def __init__(self, words: Sequence[str], size: int, vectors: str = "") -> None:
        self.words, self.size = tuple(words), size
        self.letters = tuple(sorted(set("".join(self.words))))
        self._letter_ids = {letter: i + 2 for i, letter in enumerate(self.letters)}
        self._rows = {word: i + 1 for i, word in enumerate(self.words)}
        self._known = None if not vectors else _read(Path(vectors).expanduser(), size)
        self.identity = digest((self.words, size, self._file_identity()))
        self._numbers: dict[str, int] = {}
        self._texts: dict[str, NDArray[np.int32]] = {}
        self.spelled: list[str] = [""]
        self.rows = np.zeros(1, np.int64)
        self.characters = np.zeros((1, LONGEST), np.int64)
        self.vectors = np.zeros((1, size), np.float32)

    def __call__(self, text: str) -> NDArray[np.int32]:
        """i32[n]: the numbers of a text's tokens, which stand between single spaces; read-only."""
        numbers = self._texts.get(text)
        if numbers is None:
            if len(self._texts) >= CACHED:
                self._texts.clear()
            words = text.split(" ") if text else []
            self._add(word for word in dict.fromkeys(words) if word not in self._numbers)
            numbers = np.array([self._numbers[word] for word in words], np.int32)
            numbers.flags.writeable = False
            self._texts[text] = numbers
        return numbers

    def numbers(self, words: Sequence[str]) -> NDArray[np.int32]:
        """i32[1 + n]: 0, and the numbers of words."""
        self._add(word for word in dict.fromkeys(words) if word not in self._numbers)
        return np.array([0, *(self._numbers[word] for word in words)], np.int32)

    def _add(self, words: Iterable[str]) -> None:
        new = list(words)
        if not new:
            return
        count = len(self.spelled)
        self._numbers |= {word: count + i for i, word in enumerate(new)}
        self.spelled += new
        if len(self.spelled) > len(self.rows):  # the arrays grow by doubling
            grown = max(1024, 2 * len(self.spelled))
            for name in ("rows", "characters", "vectors"):
                old = getattr(self, name)
                array = np.zeros((grown, *old.shape[1:]), old.dtype)
                array[: len(old)] = old
                setattr(self, name, array)
        for i, word in enumerate(new, count):
            self.rows[i] = self._rows.get(word, 0)
            letters = [self._letter_ids.get(letter, UNKNOWN) for letter in word[:LONGEST]]
            self.characters[i, : len(letters)] = letters
            self.vectors[i] = self._vector(word)

    def _vector(self, word: str) -> NDArray[np.float32]:
        if self._known is not None:
            return self._known.get(word, np.zeros(self.size, np.float32))
        draw = VECTORS.child(word).generator().standard_normal(self.size)
        return (draw / math.sqrt(self.size)).astype(np.float32)

    def _file_identity(self) -> str:
        if self._known is None:
            return ""
        return digest(tuple((word, vector.tobytes()) for word, vector in sorted(self._known.items())))


def _read(file: Path, size: int) -> dict[str, NDArray[np.float32]]:
    """The vectors of a file with a word and its numbers in each line, separated by spaces.

    fastText's first line, which has two numbers, is left out.
    """
    vectors: dict[str, NDArray[np.float32]] = {}
    try:
        with open_bytes(file) as opened:
            for number, line in enumerate(raw_lines(opened), 1):
                word, *parts = line.decode("utf-8").rstrip().split(" ")
                if number == 1 and len(parts) == 1:
                    continue
                if len(parts) != size:
                    raise BadSetting(
                        f"vectors = {str(file)!r}: line {number} has {len(parts)} numbers, not {size}; "
                        "set word_size"
                    )
                vectors.setdefault(word, np.array(parts, np.float32))
    except (OSError, ValueError) as error:
        raise BadSetting(
            f"vectors = {str(file)!r} cannot be read: {error}; name a text file of word vectors"
        ) from error
    return vectors
