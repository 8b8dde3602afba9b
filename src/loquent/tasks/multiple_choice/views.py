"""A question and its choices for Gymnasium (a dictionary of texts and numbers) and for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import Space, spaces

from loquent.spaces import AnyText
from loquent.task import Observation, Task

LONGEST_TEXT = 1 << 20  # characters


def fields(task: Task) -> tuple[Space[Any], Callable[[Observation], dict[str, Any]]]:
    """The space, and the function that makes its elements.

    `question`; `facts`, joined by a space; `choice`, the one now shown; `place`, its number; `count`, how many choices there are.
    """
    most = task.options.max_choices
    space = spaces.Dict(
        {
            "question": AnyText(LONGEST_TEXT),
            "facts": AnyText(LONGEST_TEXT),
            "choice": AnyText(LONGEST_TEXT),
            "place": spaces.Discrete(most),
            "count": spaces.Discrete(most + 1),
        }
    )

    def seen(observation: Observation) -> dict[str, Any]:
        told = observation.fields
        texts = {"question": told["question"], "facts": " ".join(told["facts"]), "choice": told["choices"][told["place"]]}
        return {**texts, "place": told["place"], "count": len(told["choices"])}

    return space, seen


def render(observation: Observation) -> str:
    """The question, the facts once, and the choices that have been seen."""
    told = observation.fields
    seen = len(told["choices"]) if told["passed"] else told["place"] + 1
    lines = [f"Question: {told['question']}", *(f"Fact: {fact}" for fact in told["facts"])]
    lines += [f"Choice {id}: {text}" for id, text in list(zip(told["ids"], told["choices"], strict=True))[:seen]]
    return "\n".join([*lines, f"Taken: {told['selected']}"] if told["selected"] else lines)
