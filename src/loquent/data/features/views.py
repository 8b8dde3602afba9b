"""Views: maps from an observation to an array, with its space, by means of a featurizer.

They read only the observation, so the Gymnasium adapter, agents and batches of turns get the same array. The
view of a world stands in `tasks/<world>/views.py`, and `Task.vector_view` names it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core import registry
from loquent.core.seeding import Key
from loquent.core.task import Observation, Row, Task
from loquent.data.features.base import Featurizer

ANSWERING = ("informed", "simple")  # values of the option `answering`
BATCH = 512  # rows that are encoded together

Inputs = tuple[list[str], list[tuple[str, ...]]]  # texts, and sentences of tokens


class View(ABC):
    """A map from an observation to float32[size].

    A subclass passes `parts`, the (size, lowest, highest number) of each part of its vector, in order. A part
    whose bounds are equal, as for vectors of zeros, gets the bounds [-1, 1], because a Box needs different
    bounds.
    """

    # the options of `view` that the constructor takes by name, after the task and the featurizer
    options: ClassVar[tuple[str, ...]] = ()

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
        answering, progress: options of the views that name them in `View.options`; others ignore them.
    """
    from loquent.data.features.making import make

    cls = registry.import_name(task.vector_view) if task.vector_view else None
    featurizer = make(featurizer)
    if cls is None:
        result: View = TextView(featurizer)
    else:
        taken = cls.options if isinstance(cls, type) and issubclass(cls, View) else ()  # else a function
        given = {"answering": answering, "progress": progress}
        result = cls(task, featurizer, **{name: given[name] for name in taken})
    return result.space, result


def warm(task: Task, view: View, rows: Sequence[Row], key: Key) -> None:
    """Encode the inputs of the episodes on some rows, always in the same batches."""
    for start in range(0, len(rows), BATCH):
        view.warm(task.start(row, key).observation for row in rows[start : start + BATCH])
