"""Views of reading: a dictionary, arrays of word and character ids for networks, a vector of a featurizer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core.task import Observation, Task
from loquent.data.features.base import Featurizer
from loquent.data.features.spaces import AnyText, check_lengths
from loquent.data.features.views import Inputs, View
from loquent.tasks.reading.rows import all_words

LONGEST_TEXT = 1 << 20  # characters
PAD, UNKNOWN = 0, 1  # the ids of padding, and of words and characters outside the vocabulary
QUESTION_WORDS, SENTENCE_WORDS, CANDIDATES = 40, 60, 64  # the sizes of the arrays of the view "ids"
WORD_LENGTH = 16  # the most characters of a word


def fields(task: Task) -> tuple[spaces.Dict, Callable[[Observation], dict[str, Any]]]:
    """The view "dict": `question`, `sentence`, `memory` (one sentence a line, oldest first), `left`."""
    texts = {name: AnyText(LONGEST_TEXT) for name in ("question", "sentence", "memory")}
    return spaces.Dict({**texts, "left": spaces.Discrete(task.options.steps + 1)}), dictionary


def dictionary(observation: Observation) -> dict[str, Any]:
    """An element of the view "dict"; BadRow where a text is too long for its space."""
    fields = observation.fields
    view = {"question": fields["question"], "sentence": fields["sentence"]}
    view["memory"] = "\n".join(fields["memory"])
    check_lengths("a text", view.values(), LONGEST_TEXT)
    return {**view, "left": fields["left"]}


class Words:
    """Word and character ids of texts, with a cache by text.

    Id 0 is padding, id 1 any word (or character) outside the vocabulary, id i + 2 the word (or character) i.

    Args:
        words: the vocabulary, in order; its characters, sorted, are the vocabulary of characters.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.characters = tuple(sorted(set("".join(words))))
        self._word_ids = {word: i + 2 for i, word in enumerate(self.words)}
        self._character_ids = {letter: i + 2 for i, letter in enumerate(self.characters)}
        self._ids: dict[str, NDArray[np.int32]] = {}
        self._letters: dict[str, NDArray[np.int32]] = {}

    @classmethod
    def of(cls, task: Task, size: int = 0) -> Words:
        """The words of the training paragraphs and questions of a reading task, by first use.

        Args:
            size: keep this many of the most frequent words; 0: all.
        """
        return cls(all_words(task.rows("train"), task.options.splitter, size))

    def id(self, word: str) -> int:
        """The id of a word in lower case."""
        return self._word_ids.get(word, UNKNOWN)

    def ids(self, text: str) -> NDArray[np.int32]:
        """int32[n]: the ids of tokens with spaces between them; read-only."""
        ids = self._ids.get(text)
        if ids is None:
            ids = self._kept(self._ids, text, [self.id(word) for word in text.split()])
        return ids

    def letters(self, text: str) -> NDArray[np.int32]:
        """int32[n, 16]: the character ids of each token, cut or padded to 16 characters; read-only."""
        letters = self._letters.get(text)
        if letters is None:
            known = self._character_ids
            rows = [
                [known.get(letter, UNKNOWN) for letter in word[:WORD_LENGTH]]
                + [PAD] * (WORD_LENGTH - len(word))
                for word in text.split()
            ]
            letters = self._kept(self._letters, text, rows)
        return letters

    def _kept(self, cache: dict[str, NDArray[np.int32]], text: str, value: list[Any]) -> NDArray[np.int32]:
        array = np.array(value, np.int32)
        array.flags.writeable = False
        cache[text] = array
        return array


class Ids:
    """The view "ids" of observations, as arrays of fixed sizes.

    `question` i32[40], `memory` i32[K, 60] (oldest sentence first), `candidates` i32[64], the words that are
    legal queries, in the order of the searches among the actions: word ids, cut or padded with 0.
    `left` i32[1]: the commands left.
    """

    def __init__(self, task: Task, words: Words) -> None:
        self.words, self.slots = words, task.options.memory
        highest, steps = max(len(words.words) + 1, 2), task.options.steps
        self.space = spaces.Dict(
            {
                "question": spaces.Box(0, highest, (QUESTION_WORDS,), np.int32),
                "memory": spaces.Box(0, highest, (self.slots, SENTENCE_WORDS), np.int32),
                "candidates": spaces.Box(0, highest, (CANDIDATES,), np.int32),
                "left": spaces.Box(0, steps, (1,), np.int32),
            }
        )

    def __call__(self, observation: Observation) -> dict[str, NDArray[np.int32]]:
        """An element of `space`."""
        fields = observation.fields
        memory = np.zeros((self.slots, SENTENCE_WORDS), np.int32)
        for place, sentence in zip(memory, fields["memory"]):
            _fill(place, self.words.ids(sentence))
        question, candidates = np.zeros(QUESTION_WORDS, np.int32), np.zeros(CANDIDATES, np.int32)
        _fill(question, self.words.ids(fields["question"]))
        _fill(candidates, np.array([self.words.id(word) for word in fields["queries"]], np.int32))
        left = np.array([fields["left"]], np.int32)
        return {"question": question, "memory": memory, "candidates": candidates, "left": left}


def ids(task: Task) -> tuple[spaces.Dict, Ids]:
    """The view "ids", with the words of the training rows."""
    view = Ids(task, Words.of(task))
    return view.space, view


def _fill(place: NDArray[np.int32], values: NDArray[np.int32]) -> None:
    size = min(len(place), len(values))
    place[:size] = values[:size]


class MemoryView(View):
    """[the question; the sentences in memory, oldest first; the share of steps left].

    Empty slots of the memory are zeros.
    """

    def __init__(self, task: Task, featurizer: Featurizer) -> None:
        self.slots, self.steps = task.options.memory, task.options.steps
        bound = featurizer.bound
        super().__init__(featurizer, [(featurizer.dimension * (1 + self.slots), -bound, bound), (1, 0, 1)])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields, width, array = observation.fields, self.width, self.blank.copy()
        for i, text in enumerate((fields["question"], *fields["memory"])):
            array[i * width : (i + 1) * width] = self.featurizer.vector(text)
        array[-1] = fields["left"] / self.steps
        return array

    def inputs(self, observation: Observation) -> Inputs:
        """The question and the sentences in memory."""
        return [observation.fields["question"], *observation.fields["memory"]], []
