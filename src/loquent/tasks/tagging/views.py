"""A sentence under way for Gymnasium (a dictionary of texts and numbers) and for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces

from loquent.spaces import AnyText, check_lengths
from loquent.task import Observation, Task

LONGEST_TOKEN = 65_536  # characters


class Fields:
    """From an observation to a dictionary for one tagging task.

    `token` is the current token ("" at the end), `position` its number, `previous` the number of the last label (their count for none).
    With context=all, `labels` i64[max_tokens] holds the numbers of all labels so far (the count of labels for an answer that was none,
    one more where there is no answer yet). With lookahead, `ahead` is the tuple of the tokens behind the current one.
    """

    def __init__(self, task: Task) -> None:
        texts, options = task.actions.texts, task.options  # type: ignore[union-attr]
        self.numbers = {label: number for number, label in enumerate(texts)}
        self.size, self.ahead, self.everything = options.max_tokens, options.lookahead, options.context == "all"

    def __call__(self, observation: Observation) -> dict[str, Any]:
        """An element of `space`; BadRow, when the sentence begins, where one of its tokens does not fit there."""
        told = observation.fields
        tokens, place = told["tokens"], told["position"]
        if not place:
            check_lengths("a token", tokens, LONGEST_TOKEN)
        seen = {"token": tokens[place] if place < len(tokens) else "", "position": place, "previous": told["previous"]}
        if self.everything:
            none = len(self.numbers)
            seen["labels"] = np.full(self.size, none + 1, dtype=np.int64)
            seen["labels"][:place] = [self.numbers.get(label, none) for label in told["labels"]]
        if self.ahead:
            seen["ahead"] = tokens[place + 1 :] if self.ahead < 0 else tokens[place + 1 : place + 1 + self.ahead]
        return seen

    @property
    def space(self) -> spaces.Dict:
        """Where the dictionaries lie."""
        parts: dict[str, spaces.Space[Any]] = {"token": AnyText(LONGEST_TOKEN), "position": spaces.Discrete(self.size + 1)}
        parts["previous"] = spaces.Discrete(len(self.numbers) + 1)
        if self.everything:
            parts["labels"] = spaces.MultiDiscrete([len(self.numbers) + 2] * self.size)
        if self.ahead:
            parts["ahead"] = spaces.Sequence(AnyText(LONGEST_TOKEN))
        return spaces.Dict(parts)


def fields(task: Task) -> tuple[spaces.Dict, Fields]:
    """The view "dict" of a tagging task."""
    view = Fields(task)
    return view.space, view


def render(observation: Observation) -> str:
    """Each token with its label, one a line; then the token that is next."""
    told = observation.fields
    lines = [f"Token: {token} -> Label: {label or '(no label)'}" for token, label in zip(told["tokens"], told["labels"])]
    if told["position"] < len(told["tokens"]):
        lines.append(f"Token: {told['tokens'][told['position']]} -> Label:")
    return "\n".join(lines)
