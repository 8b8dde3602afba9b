"""A sentence under way for Gymnasium (a dictionary of texts and numbers) and for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from loquent.spaces import AnyText
from loquent.task import Observation, Task

LONGEST_TOKEN = 65_536  # characters


def fields(task: Task) -> tuple[Space[Any], Callable[[Observation], dict[str, Any]]]:
    """The space, and the function that makes its elements, for a tagging task with these options.

    `token` is the current token ("" at the end), `position` its number, `previous` the number of the last label (their count for none).
    With context=all, `labels` i64[max_tokens] holds the numbers of all labels so far (the count of labels for an answer that was none,
    one more where there is no answer yet). With lookahead, `ahead` is the tuple of the tokens behind the current one.
    """
    labels, options = len(task.actions or ()), task.options
    size, ahead, everything = options.max_tokens, options.lookahead, options.context == "all"
    numbers = {label: number for number, label in enumerate(task.actions.texts)}  # type: ignore[union-attr]
    parts: dict[str, Space[Any]] = {
        "token": AnyText(LONGEST_TOKEN),
        "position": spaces.Discrete(size + 1),
        "previous": spaces.Discrete(labels + 1),
    }
    if everything:
        parts["labels"] = spaces.MultiDiscrete([labels + 2] * size)
    if ahead:
        parts["ahead"] = spaces.Sequence(AnyText(LONGEST_TOKEN))

    def seen(observation: Observation) -> dict[str, Any]:
        told = observation.fields
        tokens, place = told["tokens"], told["position"]
        made = {"token": tokens[place] if place < len(tokens) else "", "position": place, "previous": told["previous"]}
        if everything:
            made["labels"] = np.full(size, labels + 1, dtype=np.int64)
            made["labels"][:place] = [numbers.get(label, labels) for label in told["labels"]]
        if ahead:
            made["ahead"] = tokens[place + 1 :] if ahead < 0 else tokens[place + 1 : place + 1 + ahead]
        return made

    return spaces.Dict(parts), seen


def render(observation: Observation) -> str:
    """Each token with its label, one a line; then the token that is next."""
    told = observation.fields
    lines = [f"Token: {token} -> Label: {label or '(no label)'}" for token, label in zip(told["tokens"], told["labels"])]
    if told["position"] < len(told["tokens"]):
        lines.append(f"Token: {told['tokens'][told['position']]} -> Label:")
    return "\n".join(lines)
