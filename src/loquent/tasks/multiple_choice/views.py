"""A question and its choices for Gymnasium (a dictionary of texts and numbers) and for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import spaces

from loquent.spaces import AnyText, check_lengths
from loquent.task import Observation, Task

LONGEST_TEXT = 1 << 20  # characters


def dictionary(observation: Observation) -> dict[str, Any]:
    """`question`; `facts`, joined by a space; `choice`, the one now shown; `place`, its number; `count`, how many choices there are.

    BadRow, when the question is shown first, where one of its texts does not fit into the space.
    """
    told = observation.fields
    facts = " ".join(told["facts"])
    if not told["place"]:
        check_lengths("a text of the question", (told["question"], facts, *told["choices"]), LONGEST_TEXT)
    texts = {"question": told["question"], "facts": facts, "choice": told["choices"][told["place"]]}
    return {**texts, "place": told["place"], "count": len(told["choices"])}


def fields(task: Task) -> tuple[spaces.Dict, Callable[[Observation], dict[str, Any]]]:
    """The view "dict" of a task with choices: the space, and `dictionary`."""
    most = task.options.max_choices
    texts = {name: AnyText(LONGEST_TEXT) for name in ("question", "facts", "choice")}
    return spaces.Dict({**texts, "place": spaces.Discrete(most), "count": spaces.Discrete(most + 1)}), dictionary


def render(observation: Observation) -> str:
    """The question, the facts once, and the choices that have been seen."""
    told = observation.fields
    seen = len(told["choices"]) if told["passed"] else told["place"] + 1
    lines = [f"Question: {told['question']}", *(f"Fact: {fact}" for fact in told["facts"])]
    lines += [f"Choice {id}: {text}" for id, text in list(zip(told["ids"], told["choices"], strict=True))[:seen]]
    return "\n".join([*lines, f"Taken: {told['selected']}"] if told["selected"] else lines)
