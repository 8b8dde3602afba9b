"""Views of sequence tagging: a dictionary for Gymnasium, a vector for networks, and a text
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

LONGEST_TOKEN = 65_536  # characters


class Fields:
    """The function from an observation to a dictionary. Let n be the number of the task's labels.

    `token` is the current token ("" at the end), `position` its number,
    `previous` the number of the last label (n for none). With context=all, `labels` i64[max_tokens] holds the
    numbers of all labels so far: n for an answer that was not a label, n + 1 for tokens without an answer.
    With lookahead, `ahead` is the tuple of the next tokens.
    """

    def __init__(self, task: Task) -> None:
        texts, options = task.actions.texts, task.options  # type: ignore[union-attr]  # this task has texts as actions
        self.numbers = {label: number for number, label in enumerate(texts)}
        self.size, self.ahead, self.everything = (
            options.max_tokens,
            options.lookahead,
            options.context == "all",
        )

    def __call__(self, observation: Observation) -> dict[str, Any]:
        """An element of `space`; BadRow, at the first token, where a token is too long for it."""
        fields = observation.fields
        tokens, place = fields["tokens"], fields["position"]
        if not place:
            check_lengths("a token", tokens, LONGEST_TOKEN)
        view = {
            "token": tokens[place] if place < len(tokens) else "",
            "position": place,
            "previous": fields["previous"],
        }
        if self.everything:
            none = len(self.numbers)
            view["labels"] = np.full(self.size, none + 1, dtype=np.int64)
            view["labels"][:place] = [self.numbers.get(label, none) for label in fields["labels"]]
        if self.ahead:
            view["ahead"] = (
                tokens[place + 1 :] if self.ahead < 0 else tokens[place + 1 : place + 1 + self.ahead]
            )
        return view

    @property
    def space(self) -> spaces.Dict:
        """The space of the dictionaries."""
        parts: dict[str, spaces.Space[Any]] = {
            "token": AnyText(LONGEST_TOKEN),
            "position": spaces.Discrete(self.size + 1),
        }
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


class TaggingView(View):
    """[the token; the next tokens; the previous label, one-hot; the shares of all labels so far].

    The task's `lookahead` is the number of next tokens; -1 gives their mean. The last part exists with the
    task's `context=all`. Featurizers with contexts encode a token in its sentence. After the last token all
    vectors are zeros.
    """

    def __init__(self, task: Task, featurizer: Featurizer) -> None:
        assert task.actions is not None
        labels = [task.actions.text(i) for i in range(len(task.actions))]
        self.labels, self.lookahead = {label: i for i, label in enumerate(labels)}, task.options.lookahead
        self.all = task.options.context == "all"
        vectors = 1 + (self.lookahead if self.lookahead >= 0 else 1)
        self._sentence: tuple[str, ...] = ()  # the last one: its lookup reads all tokens
        self._vectors = np.zeros((0, featurizer.dimension), np.float32)  # of no token
        bound, n = featurizer.bound, len(labels)
        self.label_at = featurizer.dimension * vectors
        super().__init__(featurizer, [(self.label_at, -bound, bound), (n * (2 if self.all else 1), 0, 1)])

    def __call__(self, observation: Observation) -> NDArray[np.float32]:
        """float32[size]."""
        fields, width = observation.fields, self.width
        tokens, position, previous = fields["tokens"], fields["position"], fields["previous"]
        array = self.blank.copy()
        if position < len(tokens):
            if tokens is not self._sentence:
                self._sentence, self._vectors = tokens, self.featurizer.tokens(tokens)
            vectors = self._vectors
            array[:width] = vectors[position]
            if self.lookahead:
                following = vectors[position + 1 :]
                if self.lookahead > 0:
                    following = following[: self.lookahead].reshape(-1)
                    array[width : width + len(following)] = following
                elif len(following):
                    array[width : 2 * width] = self.featurizer.clip_vectors(following.mean(0))
        if previous < len(self.labels):
            array[self.label_at + previous] = 1
        if self.all and fields["labels"]:
            shares = array[self.label_at + len(self.labels) :]
            for label in fields["labels"]:
                if label in self.labels:
                    shares[self.labels[label]] += 1
            shares /= len(fields["labels"])  # divides counts, because sums of shares are inexact
        return array

    def inputs(self, observation: Observation) -> Inputs:
        """The whole sentence."""
        return [], [observation.fields["tokens"]]


def render(observation: Observation) -> str:
    """Each token with its label, one per line; then the next token."""
    fields = observation.fields
    lines = [
        f"Token: {token} -> Label: {label or '(no label)'}"
        for token, label in zip(fields["tokens"], fields["labels"])
    ]
    if fields["position"] < len(fields["tokens"]):
        lines.append(f"Token: {fields['tokens'][fields['position']]} -> Label:")
    return "\n".join(lines)
