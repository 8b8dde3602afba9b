"""A text and its labels for Gymnasium (a dictionary of a text and numbers) and for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from loquent.spaces import AnyText, check_lengths
from loquent.task import Observation, Task

LONGEST_TEXT = 1 << 20  # characters


class Fields:
    """From an observation to a dictionary for a task with these labels.

    `text`; `labels` i8[labels], 1 for each one that is there; `inserted`, how many answers inserted a label, wrong ones and repeats included.
    """

    def __init__(self, task: Task) -> None:
        self.numbers = {label: number for number, label in enumerate(task.actions.texts[:-1])}  # type: ignore[union-attr]
        self.most = task.spec.turn_limit or len(self.numbers)

    def __call__(self, observation: Observation) -> dict[str, Any]:
        """An element of `space`; BadRow where the text does not fit there."""
        told = observation.fields
        check_lengths("the text", (told["text"],), LONGEST_TEXT)
        there = np.zeros(len(self.numbers), dtype=np.int8)
        for label in told["labels"]:
            if label:
                there[self.numbers[label]] = 1
        return {"text": told["text"], "labels": there, "inserted": len(told["labels"])}

    @property
    def space(self) -> spaces.Dict:
        """Where the dictionaries lie."""
        counted = {"labels": spaces.MultiBinary(len(self.numbers)), "inserted": spaces.Discrete(self.most + 1)}
        return spaces.Dict({"text": AnyText(LONGEST_TEXT), **counted})


def fields(task: Task) -> tuple[spaces.Dict, Fields]:
    """The view "dict" of a task with labels."""
    view = Fields(task)
    return view.space, view


def render(observation: Observation) -> str:
    """The text, and the labels so far."""
    told = observation.fields
    labels = [label or "(no label)" for label in told["labels"]] + (["terminate"] if told["finished"] else [])
    return f"Text: {told['text']}\nLabels: {', '.join(labels)}"
