"""Random draws of the built-in generators: one seeded stream per purpose, and names made of syllables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from loquent.core.seeding import Key

T = TypeVar("T")
BLOCK = 4096


def words(line: str) -> tuple[str, ...]:
    """The words of a line."""
    return tuple(line.split())


BEGIN = words(
    "Bar Bel Cal Cor Dan Del Fal Gor Har Hel Jar Kel Kor Lan Lor Mar Mel Nor Pel Ran Ros Sal Sor "
    "Tal Tor Val Ver Wel Win Yar"
)
END = words(
    "den dale ford gate ham ker land low mar ney nock ridge shaw stead ster ston ten ton vale ver wick wood"
)


class Drawn:
    """A stream of random draws that depends on its purpose alone."""

    def __init__(self, *purpose: str) -> None:
        self._rng = Key(0, ("annotated", *purpose)).generator()
        self._block: list[float] = []

    def uniform(self) -> float:
        """A number in [0, 1)."""
        if not self._block:
            self._block = self._rng.random(BLOCK).tolist()
        return self._block.pop()

    def below(self, share: float) -> bool:
        """True with probability `share`."""
        return self.uniform() < share

    def choice(self, items: Sequence[T]) -> T:
        """One of the items, uniformly."""
        return items[int(self.uniform() * len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` items without replacement, in the order drawn."""
        left = list(items)
        return [left.pop(int(self.uniform() * len(left))) for _ in range(count)]


def names(purpose: str, count: int) -> list[str]:
    """`count` different names, such as "Corwick"; equal in every process."""
    return Drawn(purpose, "names").sample([begin + end for begin in BEGIN for end in END], count)
