"""Views: maps from an observation to an array, with its space, by means of a featurizer.

They read only the observation, so the Gymnasium adapter, agents and batches of turns get the same array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core import registry
from loquent.core.seeding import Key
from loquent.core.task import Observation, Row, Task
from loquent.errors import BadSetting
from loquent.features.base import Featurizer, VectorCache

ANSWERING = ("informed", "simple")
BATCH = 512  # rows that are encoded together
COSINES_BYTES = 1 << 20  # the size limit of a view's cache: the cosines of 130,000 choices

Inputs = tuple[list[str], list[tuple[str, ...]]]  # texts, and sentences of tokens
Choice = tuple[str, tuple[str, ...], str]  # a question, its facts, and one of its choices


class View(ABC):
    """A map from an observation to float32[size].

    A subclass passes `parts`, the (size, lowest, highest number) of each part of its vector, in order. A part
    whose bounds are equal, as for vectors of zeros, gets the bounds [-1, 1], because a Box needs different
    bounds.
    """

    def __init__(self, featurizer: Featurizer, parts: Sequence[tuple[int, float, float]]) -> None:
        self.featurizer, self.width = featurizer, featurizer.dimension
        self.size = sum(size for size, _, _ in parts)
        self.blank = np.zeros(self.size, np.float32)  # its copy is faster than a new array of zeros
        self.blank.flags.writeable = False
        parts = [
            (size, low, high) if np.float32(low) < np.float32(high) else (size, -1.0, 1.0)
            for size, low, high in parts
        ]
        self.low = np.concatenate([np.full(size, low, np.float32) for size, low, _ in parts])
        self.high = np.concatenate([np.full(size, high, np.float32) for size, _, high in parts])

    @abstractmethod
    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size], a new array."""

    @abstractmethod
    def inputs(self, observation: Observation) -> Inputs:
        """The texts and sentences whose vectors an episode with this first observation needs."""

    def warm(self, observations: Iterable[Observation]) -> None:
        """Encode the inputs of these episodes in one batch, which is many times faster for networks."""
        texts: list[str] = []
        sentences: list[tuple[str, ...]] = []
        for observation in observations:
            own_texts, own_sentences = self.inputs(observation)
            texts += own_texts
            sentences += own_sentences
        self.featurizer.warm(texts, sentences)

    @property
    def space(self) -> spaces.Box:
        """The space of the vectors: bounded, float32."""
        return spaces.Box(self.low, self.high, dtype=np.float32)


class TaggingView(View):
    """[the token; the next tokens; the previous label, one-hot; the shares of all labels so far].

    The task's `lookahead` is the number of next tokens; -1 gives their mean. The last part exists with the
    task's `context=all`. Featurizers with contexts encode a token in its sentence. After the last token all
    vectors are zeros.
    """

    def __init__(self, task: Task, featurizer: Featurizer) -> None:
        assert task.actions is not None
        labels = [task.actions.text(i) for i in range(len(task.actions))]
        self.labels, self.lookahead = {label: i for i, label in enumerate(labels)}, task.options.lookahead
        self.all = task.options.context == "all"
        vectors = 1 + (self.lookahead if self.lookahead >= 0 else 1)
        bound, n = featurizer.bound, len(labels)
        self.label_at = featurizer.dimension * vectors
        super().__init__(featurizer, [(self.label_at, -bound, bound), (n * (2 if self.all else 1), 0, 1)])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields, width = observation.fields, self.width
        tokens, position, previous = fields["tokens"], fields["position"], fields["previous"]
        array = self.blank.copy()
        if position < len(tokens):
            vectors = self.featurizer.tokens(tokens)
            array[:width] = vectors[position]
            if self.lookahead:
                following = vectors[position + 1 :]
                if self.lookahead > 0:
                    following = following[: self.lookahead].reshape(-1)
                    array[width : width + len(following)] = following
                elif len(following):
                    array[width : 2 * width] = self.featurizer.clipped(following.mean(0))
        if previous < len(self.labels):
            array[self.label_at + previous] = 1
        if self.all and fields["labels"]:
            shares = array[self.label_at + len(self.labels) :]
            for label in fields["labels"]:
                if label in self.labels:
                    shares[self.labels[label]] += 1
            shares /= len(fields["labels"])  # divides counts, because sums of shares are inexact
        return array

    def inputs(self, observation: Observation) -> Inputs:
        """The whole sentence."""
        return [], [observation.fields["tokens"]]


class MultiLabelView(View):
    """[the text; 1 for each inserted label, else 0; 1 after the action "terminate", else 0]."""

    def __init__(self, task: Task, featurizer: Featurizer) -> None:
        assert task.actions is not None
        self.labels = {task.actions.text(i): i + featurizer.dimension for i in range(len(task.actions) - 1)}
        super().__init__(
            featurizer,
            [(featurizer.dimension, -featurizer.bound, featurizer.bound), (len(task.actions), 0, 1)],
        )

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields = observation.fields
        array = self.blank.copy()
        array[: self.width] = self.featurizer.vector(fields["text"])
        for label in fields["labels"]:
            if label in self.labels:
                array[self.labels[label]] = 1
        if fields["finished"]:
            array[-1] = 1
        return array

    def inputs(self, observation: Observation) -> Inputs:
        """The text."""
        return [observation.fields["text"]], []


class AnsweringView(View):
    """The current choice of a question.

    informed  [cosine of question and choice; cosine of facts and choice], 0 for a vector of zeros.
    simple    [the question; the facts; the choice].
    With `progress` the last number is the share of choices so far.
    """

    def __init__(
        self, task: Task, featurizer: Featurizer, kind: str = "informed", progress: bool = False
    ) -> None:
        if kind not in ANSWERING:
            raise BadSetting(f"answering = {kind!r}; it must be one of {', '.join(ANSWERING)}")
        self.informed, self.progress = kind == "informed", progress
        self._cache: VectorCache[Choice] = VectorCache(COSINES_BYTES)
        first = (
            (2, -1.0, 1.0)
            if self.informed
            else (3 * featurizer.dimension, -featurizer.bound, featurizer.bound)
        )
        super().__init__(featurizer, [first, (1, 0, 1)] if progress else [first])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields = observation.fields
        choices, place = fields["choices"], fields["place"]
        choice = fields["question"], fields["facts"], choices[place]
        array = self._cosines(choice).copy() if self.informed else np.concatenate(self._vectors(choice))
        return np.append(array, np.float32((place + 1) / len(choices))) if self.progress else array

    def _cosines(self, choice: Choice) -> NDArray[np.float32]:
        """float32[2], cached and read-only."""
        cosines = self._cache.get(choice)
        if cosines is None:
            question, facts, text = self._vectors(choice)
            cosines = np.array([cosine(question, text), cosine(facts, text)], np.float32)
            self._cache.put(choice, cosines)
        return cosines

    def _vectors(self, choice: Choice) -> list[NDArray[np.float32]]:
        question, facts, text = choice
        return [self.featurizer.vector(part) for part in (question, joined(facts), text)]

    def inputs(self, observation: Observation) -> Inputs:
        """The question, the facts and all choices."""
        fields = observation.fields
        return [fields["question"], joined(fields["facts"]), *fields["choices"]], []


class TextView(View):
    """The vector of an observation's text, for any task."""

    def __init__(self, featurizer: Featurizer) -> None:
        super().__init__(featurizer, [(featurizer.dimension, -featurizer.bound, featurizer.bound)])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        return self.featurizer.vector(observation.text).copy()

    def inputs(self, observation: Observation) -> Inputs:
        """The text."""
        return [observation.text], []


def view(
    task: Task, featurizer: Featurizer | None = None, *, answering: str = "informed", progress: bool = False
) -> tuple[spaces.Box, View]:
    """The space and the view of a task's observations; a task without a view of its own gets `TextView`.

    Args:
        featurizer: hashed n-grams by default.
        answering, progress: for a multiple-choice task, see `AnsweringView`.
    """
    from loquent.features.making import make

    cls = registry.import_name(task.vector_view) if task.vector_view else None
    featurizer = make(featurizer)
    result = (
        cls(task, featurizer, answering, progress)
        if cls is AnsweringView
        else cls(task, featurizer)
        if cls
        else TextView(featurizer)
    )
    return result.space, result


def warm(task: Task, view: View, rows: Sequence[Row], key: Key) -> None:
    """Encode the inputs of the episodes on some rows, always in the same batches."""
    for start in range(0, len(rows), BATCH):
        view.warm(task.start(row, key).observation for row in rows[start : start + BATCH])


def joined(facts: Sequence[str]) -> str:
    """The facts as one text, joined by a full stop and a space."""
    return ". ".join(facts)


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """The cosine of two vectors, within [-1, 1]; 0 if one of them is zero."""
    size = float(np.sqrt(a.dot(a) * b.dot(b)))
    return max(-1.0, min(1.0, float(a.dot(b)) / size)) if size > 0 else 0.0
