"""Texts by number, each stored once, and replays of situations as such numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.task import Observation
from loquent.errors import BadCheckpoint
from loquent.files import saved_state
from loquent.pretrained.learning.turn_network import Store
from loquent.tasks.reading.network.inputs import Inputs, Situation


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


class Situations(Store):
    """Situations as numbers of texts: question, queries, searched words, and memory, which -1 fills up."""

    def __init__(self, inputs: Inputs) -> None:
        self.inputs, self.texts = inputs, Texts()

    def pack(self, observation: Observation) -> dict[str, NDArray[Any]]:
        """`texts` i32[3 + sentences], and `left` i32[]."""
        now = self.inputs.situation(observation)
        ids = self.texts.ids((now.question, now.queries, now.searched, *now.memory))
        ids += [-1] * (3 + self.inputs.sentences - len(ids))
        return {"texts": np.array(ids, np.int32), "left": np.array(now.left, np.int32)}

    def batch(self, arrays: Mapping[str, NDArray[Any]]) -> list[Situation]:
        """The situations."""
        texts, situations = self.texts, []
        for numbers, left in zip(arrays["texts"].tolist(), arrays["left"].tolist(), strict=True):
            question, queries, searched, *memory = numbers
            sentences = tuple([texts[number] for number in memory if number >= 0])
            situations.append(Situation(texts[question], sentences, texts[queries], texts[searched], left))
        return situations

    def tidy(self, arrays: Sequence[Mapping[str, NDArray[Any]]]) -> None:
        """Forget the texts that no array names."""
        self.texts.keep([each["texts"] for each in arrays])

    def check(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Raise BadCheckpoint if a number names no text."""
        numbers = arrays["texts"]
        if len(numbers) and not (numbers.min() >= -1 and numbers.max() < len(self.texts)):
            raise BadCheckpoint("the replay names texts that the checkpoint lacks; use an undamaged one")

    def state_dict(self) -> dict[str, Any]:
        """The texts."""
        return {"texts": list(self.texts.all)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`."""
        self.texts.load(saved_state.items(state, "texts"))
