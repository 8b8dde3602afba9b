"""The policy that searches for the rarest word of the question first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from loquent.core.settings import redefault
from loquent.core.task import Observation, Task
from loquent.tasks.reading.players.experts import Searches, WordsInOrder
from loquent.tasks.reading.task import Reading


@dataclass(frozen=True, kw_only=True)
class RarestOptions(Searches):
    """The options of reading/rarest_first."""

    searches: int = redefault(Searches, "searches", 0)


class Rarity:
    """The number of training paragraphs that have a word."""

    def __init__(self, task: Reading) -> None:
        documents = {task.game(row).document for row in task.rows("train")}
        self.count, self.of = len(documents), Counter[str]()
        for document in documents:
            self.of.update({word for sentence in document.sentences for word in sentence.split(" ")})

    def weight(self, word: str) -> float:
        """log((1 + paragraphs) / (1 + paragraphs with the word))."""
        return math.log((1 + self.count) / (1 + self.of[word]))

    def order(self, words: Sequence[str]) -> list[str]:
        """The rarest word first; of equally rare words, the first in the question comes first."""
        return sorted(words, key=self.of.__getitem__)


class RarestFirst(WordsInOrder):
    """Searches for the words of the question, the rarest in the training paragraphs first, then stops."""

    kind = "reading/rarest_first"
    Options: ClassVar[type] = RarestOptions

    def __init__(self, task: Task, options: Any = None) -> None:
        super().__init__(task, options)
        self.rarity = Rarity(self.task)

    def order_words(self, observation: Observation) -> list[str]:
        """The words in the order of their searches."""
        return self.rarity.order(self.words(observation))
