"""Texts by number, each stored once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from loquent.errors import BadCheckpoint


class Texts:
    """Numbers of texts, by first use. The number -1 names no text."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.all)

    def __getitem__(self, number: int) -> str:
        return self.all[number]

    def ids(self, texts: Iterable[str]) -> list[int]:
        """The numbers of texts."""
        numbers = self._numbers
        ids = []
        for text in texts:
            number = numbers.get(text)
            if number is None:
                number = numbers[text] = len(self.all)
                self.all.append(text)
            ids.append(number)
        return ids

    def keep(self, arrays: Sequence[NDArray[np.int32]]) -> None:
        """Forget the texts that no number in the arrays names, and write the new numbers into the arrays."""
        used = np.unique(np.concatenate([array.ravel() for array in arrays]))
        used = used[used >= 0]
        new = np.full(len(self.all) + 1, -1, np.int32)  # the last place is that of -1
        new[used] = np.arange(len(used))
        self.all = [self.all[number] for number in used.tolist()]
        self._numbers = {text: number for number, text in enumerate(self.all)}
        for array in arrays:
            array[...] = new[array]

    def load(self, texts: Sequence[object]) -> None:
        """Replace all texts.

        Raises:
            BadCheckpoint: they are not different strings.
        """
        numbers = {text: i for i, text in enumerate(texts) if isinstance(text, str)}
        if len(numbers) != len(texts):
            raise BadCheckpoint(
                "the texts of a replay must be different strings; use an undamaged checkpoint"
            )
        self.all, self._numbers = list(numbers), numbers
