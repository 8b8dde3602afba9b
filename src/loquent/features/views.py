"""Views: what a featurizer makes of an observation, as a pair (space, function from the observation to an array).

They read `Observation.fields` alone, so the Gymnasium adapter, an agent and a batch of turns make the same picture.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.errors import BadSetting
from loquent.features.base import Featurizer, Kept
from loquent.seeding import Key
from loquent.task import Observation, Row, Task

ANSWERING = ("informed", "simple")
WARMED = 512  # rows that are encoded together
COSINES_BYTES = 1 << 20  # of cosines that one view keeps: those of 130,000 choices

Wanted = tuple[list[str], list[tuple[str, ...]]]  # texts, and sentences of tokens
Shown = tuple[str, tuple[str, ...], str]  # a question, its facts, and one of its choices


class View(ABC):
    """From an observation to float32[size]. A child gives `parts`, the (size, smallest, largest number) of each part of its vector, in order.

    A part that can hold one number alone, as with vectors that are all zeros, has the range [-1, 1]: a Box wants one.
    """

    def __init__(self, featurizer: Featurizer, parts: Sequence[tuple[int, float, float]]) -> None:
        self.featurizer, self.width = featurizer, featurizer.dimension
        self.size = sum(size for size, _, _ in parts)
        self.blank = np.zeros(self.size, np.float32)  # its copy takes less time than a fresh array of zeros
        self.blank.flags.writeable = False
        parts = [(size, low, high) if np.float32(low) < np.float32(high) else (size, -1.0, 1.0) for size, low, high in parts]
        self.low = np.concatenate([np.full(size, low, np.float32) for size, low, _ in parts])
        self.high = np.concatenate([np.full(size, high, np.float32) for size, _, high in parts])

    @abstractmethod
    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size], a fresh array."""

    @abstractmethod
    def wanted(self, observation: Observation) -> Wanted:
        """The texts and sentences whose vectors a game needs that begins so."""

    def warm(self, observations: Iterable[Observation]) -> None:
        """Encode together what these games will need: many times faster for networks."""
        texts: list[str] = []
        sentences: list[tuple[str, ...]] = []
        for observation in observations:
            more, other = self.wanted(observation)
            texts += more
            sentences += other
        self.featurizer.warm(texts, sentences)

    @property
    def space(self) -> spaces.Box:
        """The space of its vectors: bounded, float32."""
        return spaces.Box(self.low, self.high, dtype=np.float32)


class TaggingView(View):
    """[the token; the tokens behind it, as the task's `lookahead` says; the previous label as one of n; shares of all labels so far].

    The last part is there with the task's `context=all`; with `lookahead=-1` the tokens behind stand as their mean. A token is encoded
    in its sentence where the featurizer knows contexts. Behind the last token all of them are zeros.
    """

    def __init__(self, task: Task, featurizer: Featurizer) -> None:
        assert task.actions is not None
        labels = [task.actions.text(i) for i in range(len(task.actions))]
        self.labels, self.lookahead = {label: i for i, label in enumerate(labels)}, task.options.lookahead
        self.all = task.options.context == "all"
        shown = 1 + (self.lookahead if self.lookahead >= 0 else 1)
        bound, n = featurizer.bound, len(labels)
        self.label_at = featurizer.dimension * shown
        super().__init__(featurizer, [(self.label_at, -bound, bound), (n * (2 if self.all else 1), 0, 1)])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields, width = observation.fields, self.width
        tokens, position, previous = fields["tokens"], fields["position"], fields["previous"]
        seen = self.blank.copy()
        if position < len(tokens):
            vectors = self.featurizer.tokens(tokens)
            seen[:width] = vectors[position]
            if self.lookahead:
                behind = vectors[position + 1 :]
                if self.lookahead > 0:
                    behind = behind[: self.lookahead].reshape(-1)
                    seen[width : width + len(behind)] = behind
                elif len(behind):
                    seen[width : 2 * width] = self.featurizer.clipped(behind.mean(0))
        if previous < len(self.labels):
            seen[self.label_at + previous] = 1
        if self.all and fields["labels"]:
            shares = seen[self.label_at + len(self.labels) :]
            for label in fields["labels"]:
                if label in self.labels:
                    shares[self.labels[label]] += 1
            shares /= len(fields["labels"])  # of counts, which are exact: ten times a tenth is more than 1
        return seen

    def wanted(self, observation: Observation) -> Wanted:
        """The whole sentence."""
        return [], [observation.fields["tokens"]]


class MultiLabelView(View):
    """[the text; each label, 1 where it was inserted; 1 once "terminate" was said]."""

    def __init__(self, task: Task, featurizer: Featurizer) -> None:
        assert task.actions is not None
        self.labels = {task.actions.text(i): i + featurizer.dimension for i in range(len(task.actions) - 1)}
        super().__init__(featurizer, [(featurizer.dimension, -featurizer.bound, featurizer.bound), (len(task.actions), 0, 1)])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields = observation.fields
        seen = self.blank.copy()
        seen[: self.width] = self.featurizer.vector(fields["text"])
        for label in fields["labels"]:
            if label in self.labels:
                seen[self.labels[label]] = 1
        if fields["finished"]:
            seen[-1] = 1
        return seen

    def wanted(self, observation: Observation) -> Wanted:
        """The text."""
        return [observation.fields["text"]], []


class AnsweringView(View):
    """What is known of the choice now shown.

    informed  [cosine of question and choice; cosine of facts and choice], 0 where one of the two has a vector of zeros.
    simple    [the question; the facts; the choice].
    With `progress` a last number tells which share of the choices has been shown.
    """

    def __init__(self, task: Task, featurizer: Featurizer, kind: str = "informed", progress: bool = False) -> None:
        if kind not in ANSWERING:
            raise BadSetting(f"answering = {kind!r} is none of {', '.join(ANSWERING)}")
        self.informed, self.progress = kind == "informed", progress
        self._kept: Kept[Shown] = Kept(COSINES_BYTES)
        first = (2, -1.0, 1.0) if self.informed else (3 * featurizer.dimension, -featurizer.bound, featurizer.bound)
        super().__init__(featurizer, [first, (1, 0, 1)] if progress else [first])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields = observation.fields
        choices, place = fields["choices"], fields["place"]
        shown = fields["question"], fields["facts"], choices[place]
        seen = self._cosines(shown).copy() if self.informed else np.concatenate(self._vectors(shown))
        return np.append(seen, np.float32((place + 1) / len(choices))) if self.progress else seen

    def _cosines(self, shown: Shown) -> NDArray[np.float32]:
        """float32[2], which cannot be written to; kept, since a choice comes back with its question."""
        found = self._kept.get(shown)
        if found is None:
            question, facts, choice = self._vectors(shown)
            found = np.array([cosine(question, choice), cosine(facts, choice)], np.float32)
            self._kept.put(shown, found)
        return found

    def _vectors(self, shown: Shown) -> list[NDArray[np.float32]]:
        question, facts, choice = shown
        return [self.featurizer.vector(text) for text in (question, joined(facts), choice)]

    def wanted(self, observation: Observation) -> Wanted:
        """The question, the facts and all choices."""
        fields = observation.fields
        return [fields["question"], joined(fields["facts"]), *fields["choices"]], []


class TextView(View):
    """The vector of an observation's text: for any task."""

    def __init__(self, featurizer: Featurizer) -> None:
        super().__init__(featurizer, [(featurizer.dimension, -featurizer.bound, featurizer.bound)])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        return self.featurizer.vector(observation.text).copy()

    def wanted(self, observation: Observation) -> Wanted:
        """The text."""
        return [observation.text], []


def view(task: Task, featurizer: Featurizer | None = None, *, answering: str = "informed", progress: bool = False) -> tuple[spaces.Box, View]:
    """The space and the view of a task's observations: of tagging, labelling and answering their own, of any other its text.

    Args:
        featurizer: hashed n-grams by default.
        answering, progress: of a multiple-choice task, see `AnsweringView`.
    """
    from loquent.features.making import make

    made, featurizer = _made(task.spec.id), make(featurizer)
    found = made(task, featurizer, answering, progress) if made is AnsweringView else made(task, featurizer) if made else TextView(featurizer)
    return found.space, found


def warm(task: Task, seen: View, rows: Sequence[Row], key: Key) -> None:
    """Encode what the games on some rows will need, always in the same batches."""
    for start in range(0, len(rows), WARMED):
        seen.warm(task.start(row, key).observation for row in rows[start : start + WARMED])


def joined(facts: Sequence[str]) -> str:
    """Facts as one text, a full stop and a space between each two."""
    return ". ".join(facts)


def cosine(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """The cosine of two vectors, within [-1, 1]; 0 where one of them is zeros."""
    size = float(np.sqrt(a.dot(a) * b.dot(b)))
    return max(-1.0, min(1.0, float(a.dot(b)) / size)) if size > 0 else 0.0


def _made(id: str) -> Any:
    return {"tagging": TaggingView, "multilabel": MultiLabelView, "multiple_choice": AnsweringView}.get(id)
