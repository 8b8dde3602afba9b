"""Views of multiple choice: a dictionary for Gymnasium, and a text for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gymnasium import spaces

from loquent.core.spaces import AnyText, check_lengths
from loquent.core.task import Observation, Task

LONGEST_TEXT = 1 << 20  # characters


def dictionary(observation: Observation) -> dict[str, Any]:
    """The question as a dictionary.

    `question`; `facts`, joined by spaces; `choice`, the current choice; `place`, its number;
    `count`, the number of choices.

    Raises:
        BadRow: at the first choice, where a text of the question is too long for the space.
    """
    fields = observation.fields
    facts = " ".join(fields["facts"])
    if not fields["place"]:
        check_lengths("a text of the question", (fields["question"], facts, *fields["choices"]), LONGEST_TEXT)
    texts = {"question": fields["question"], "facts": facts, "choice": fields["choices"][fields["place"]]}
    return {**texts, "place": fields["place"], "count": len(fields["choices"])}


def fields(task: Task) -> tuple[spaces.Dict, Callable[[Observation], dict[str, Any]]]:
    """The view "dict" of a multiple-choice task: its space, and `dictionary`."""
    most = task.options.max_choices
    texts = {name: AnyText(LONGEST_TEXT) for name in ("question", "facts", "choice")}
    return spaces.Dict(
        {**texts, "place": spaces.Discrete(most), "count": spaces.Discrete(most + 1)}
    ), dictionary


def render(observation: Observation) -> str:
    """The question, the facts, and the choices shown so far."""
    fields = observation.fields
    count = len(fields["choices"]) if fields["passed"] else fields["place"] + 1
    lines = [f"Question: {fields['question']}", *(f"Fact: {fact}" for fact in fields["facts"])]
    lines += [
        f"Choice {id}: {text}"
        for id, text in list(zip(fields["ids"], fields["choices"], strict=True))[:count]
    ]
    return "\n".join([*lines, f"Taken: {fields['selected']}"] if fields["selected"] else lines)
