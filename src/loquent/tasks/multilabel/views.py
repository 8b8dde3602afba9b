"""A text and its labels for Gymnasium (a dictionary of a text and numbers) and for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from loquent.spaces import AnyText
from loquent.task import Observation, Task

LONGEST_TEXT = 1 << 20  # characters


def fields(task: Task) -> tuple[Space[Any], Callable[[Observation], dict[str, Any]]]:
    """The space, and the function that makes its elements, for a task with these labels.

    `text`; `labels` i8[labels], 1 for each one that is there; `inserted`, how many answers inserted a label, wrong ones and repeats included.
    """
    names = task.actions.texts[:-1]  # type: ignore[union-attr]
    numbers = {label: number for number, label in enumerate(names)}
    space = spaces.Dict(
        {
            "text": AnyText(LONGEST_TEXT),
            "labels": spaces.MultiBinary(len(names)),
            "inserted": spaces.Discrete((task.spec.turn_limit or len(names)) + 1),
        }
    )

    def seen(observation: Observation) -> dict[str, Any]:
        told = observation.fields
        there = np.zeros(len(names), dtype=np.int8)
        for label in told["labels"]:
            if label:
                there[numbers[label]] = 1
        return {"text": told["text"], "labels": there, "inserted": len(told["labels"])}

    return space, seen


def render(observation: Observation) -> str:
    """The text, and the labels so far."""
    told = observation.fields
    labels = [label or "(no label)" for label in told["labels"]] + (["terminate"] if told["finished"] else [])
    return f"Text: {told['text']}\nLabels: {', '.join(labels)}"
