"""Views of multi-label classification: a dictionary for Gymnasium, a vector for networks, and a text
for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core.task import Observation, Task
from loquent.data.features.base import Featurizer
from loquent.data.features.spaces import AnyText, check_lengths
from loquent.data.features.views import Inputs, View

LONGEST_TEXT = 1 << 20  # characters


class Fields:
    """The function from an observation to a dictionary.

    `text`; `labels` i8[labels], 1 for each inserted label; `inserted`, the number of answers so far,
    wrong and repeated labels included.
    """

    def __init__(self, task: Task) -> None:
        self.numbers = {label: number for number, label in enumerate(task.actions.texts[:-1])}  # type: ignore[union-attr]  # this task has texts as actions
        self.most = task.spec.turn_limit or len(self.numbers)

    def __call__(self, observation: Observation) -> dict[str, Any]:
        """An element of `space`; BadRow where the text is too long for it."""
        fields = observation.fields
        check_lengths("the text", (fields["text"],), LONGEST_TEXT)
        inserted = np.zeros(len(self.numbers), dtype=np.int8)
        for label in fields["labels"]:
            if label:
                inserted[self.numbers[label]] = 1
        return {"text": fields["text"], "labels": inserted, "inserted": len(fields["labels"])}

    @property
    def space(self) -> spaces.Dict:
        """The space of the dictionaries."""
        counted = {
            "labels": spaces.MultiBinary(len(self.numbers)),
            "inserted": spaces.Discrete(self.most + 1),
        }
        return spaces.Dict({"text": AnyText(LONGEST_TEXT), **counted})


def fields(task: Task) -> tuple[spaces.Dict, Fields]:
    """The view "dict" of a multi-label task."""
    view = Fields(task)
    return view.space, view


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


def render(observation: Observation) -> str:
    """The text, and the labels so far."""
    fields = observation.fields
    labels = [label or "(no label)" for label in fields["labels"]] + (
        ["terminate"] if fields["finished"] else []
    )
    return f"Text: {fields['text']}\nLabels: {', '.join(labels)}"
