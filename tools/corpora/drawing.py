"""Random draws of the built-in generators: one seeded stream per purpose, and names made of syllables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml

from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data import duplicates
from loquent.data.sources import Splits

T = TypeVar("T")
BLOCK = 4096


def tables(name: str) -> dict[str, Any]:
    """The words and templates of a corpus: lists and mappings of `NAME.yaml` in this folder."""
    file = Path(__file__).with_name("words") / f"{name}.yaml"
    found: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    return found


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


class Draws:
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


def disjoint(purpose: str, sizes: Mapping[str, int], draw_record: Callable[[Draws, str], Record]) -> Splits:
    """Rows by split, of which no two splits have one content in common.

    A record whose content stands in an earlier split is drawn again. Each split has a stream of its own.

    Args:
        sizes: the number of rows of each split.
        draw_record: draws the fields of one row of a split.
    """
    earlier: set[str] = set()
    splits: Splits = {}
    for split, size in sizes.items():
        stream = Draws(purpose, split)
        records: list[Record] = []
        while len(records) < size:
            record = draw_record(stream, split)
            if duplicates.content(record) not in earlier:
                records.append(record)
        earlier.update(map(duplicates.content, records))
        splits[split] = tuple(Row(f"{split}-{i}", record) for i, record in enumerate(records))
    return splits


def names(purpose: str, count: int) -> list[str]:
    """`count` different names, such as "Corwick"; equal in every process."""
    return Draws(purpose, "names").sample([begin + end for begin in BEGIN for end in END], count)
