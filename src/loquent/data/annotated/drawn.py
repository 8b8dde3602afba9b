"""Draws of the built-in generators: one keyed stream for each purpose, and names made of syllables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from loquent.seeding import Key

T = TypeVar("T")
BLOCK = 4096


def words(line: str) -> tuple[str, ...]:
    """The words of a line."""
    return tuple(line.split())


BEGIN = words("Bar Bel Cal Cor Dan Del Fal Gor Har Hel Jar Kel Kor Lan Lor Mar Mel Nor Pel Ran Ros Sal Sor Tal Tor Val Ver Wel Win Yar")
END = words("den dale ford gate ham ker land low mar ney nock ridge shaw stead ster ston ten ton vale ver wick wood")


class Drawn:
    """A stream of draws that depends on its names alone."""

    def __init__(self, *purpose: str) -> None:
        self._rng = Key(0, ("annotated", *purpose)).generator()
        self._block: list[float] = []

    def uniform(self) -> float:
        """A number in [0, 1)."""
        if not self._block:
            self._block = self._rng.random(BLOCK).tolist()
        return self._block.pop()

    def below(self, share: float) -> bool:
        """True in this share of all cases."""
        return self.uniform() < share

    def one(self, things: Sequence[T]) -> T:
        """One of them, each equally likely."""
        return things[int(self.uniform() * len(things))]

    def some(self, things: Sequence[T], count: int) -> list[T]:
        """So many different ones, in the order drawn."""
        left = list(things)
        return [left.pop(int(self.uniform() * len(left))) for _ in range(count)]


def names(purpose: str, count: int) -> list[str]:
    """So many different names, such as "Corwick"; always the same."""
    return Drawn(purpose, "names").some([begin + end for begin in BEGIN for end in END], count)
