"""Text generation as others want to see it: the token form of Gymnasium, and a picture for people.

The token form is the MDP of arXiv:2210.01241 sec. 3.1 over bytes: an action is one byte of UTF-8 or the end. A `TokenView` says what
is seen while an answer grows; whoever steps (the Gymnasium adapter) keeps the list of drawn ids, asks the view for an array, and
gives the task `view.text(drawn)` once the list ends with `END` (stopped "end") or is `answer_length` long (stopped "length").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.errors import InvalidAction
from loquent.settings import check_ranges, setting
from loquent.task import Observation

END = 256  # the action that ends an answer; 0 to 255 are bytes
PAD = 257  # never an action
ACTIONS = 257
Arrays = dict[str, NDArray[np.generic]]


@dataclass(frozen=True, kw_only=True)
class TokenView:
    """Prompt and answer so far as fixed-length arrays of token ids, padded on the left.

    `prompt` i64[P], `answer` i64[T] and `input` i64[P + T] hold ids, 0 to 257; `prompt_real`, `answer_real` and `input_real` are
    1 where there is no padding. `input` is prompt and answer without a gap. A longer prompt loses its beginning.
    """

    prompt_length: int = setting(512, "P: bytes of the prompt that are seen", low=1)
    answer_length: int = setting(256, "T: an answer of so many tokens is stopped", low=1)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def space(self) -> spaces.Dict:
        """Where `array` lies."""
        lengths = {"prompt": self.prompt_length, "answer": self.answer_length, "input": self.prompt_length + self.answer_length}
        ids = {name: spaces.Box(0, PAD, (length,), np.int64) for name, length in lengths.items()}
        real = {f"{name}_real": spaces.MultiBinary(length) for name, length in lengths.items()}
        return spaces.Dict({**ids, **real})

    @property
    def action_space(self) -> spaces.Discrete:
        """One of 256 bytes, or the end."""
        return spaces.Discrete(ACTIONS)

    def array(self, observation: Observation, drawn: Sequence[int] = ()) -> Arrays:
        """What is seen of the task's observation after the actions `drawn` (the end included, once it is said).

        Raises:
            InvalidAction: an action is no integer from 0 to 256, or there are more than `answer_length`.
        """
        return self.join(encode(observation.fields["prompt"]), _checked(drawn, self.answer_length))

    def join(self, prompt: Sequence[int], answer: Sequence[int]) -> Arrays:
        """The arrays for a prompt and an answer that are ids already."""
        seen = list(prompt)[-self.prompt_length :]
        parts = {"prompt": (seen, self.prompt_length), "answer": (answer, self.answer_length)}
        parts["input"] = ([*seen, *answer], self.prompt_length + self.answer_length)
        arrays: Arrays = {}
        for name, (ids, length) in parts.items():
            arrays[name] = np.array([PAD] * (length - len(ids)) + list(ids), dtype=np.int64)
            arrays[f"{name}_real"] = np.array([0] * (length - len(ids)) + [1] * len(ids), dtype=np.int8)
        return arrays

    def stopped(self, drawn: Sequence[int]) -> str | None:
        """Why an answer is over: "end", "length", or None while it may go on."""
        if drawn and drawn[-1] == END:
            return "end"
        return "length" if len(drawn) >= self.answer_length else None

    def text(self, drawn: Sequence[int]) -> str:
        """The text of drawn actions; bytes that are not UTF-8 become U+FFFD, so that any draw is a text."""
        ids = _checked(drawn, self.answer_length)
        return bytes(i for i in ids if i != END).decode("utf-8", errors="replace")


def encode(text: str) -> tuple[int, ...]:
    """The bytes of a text; a lone surrogate, which UTF-8 cannot hold, becomes "?"."""
    return tuple(text.encode("utf-8", errors="replace"))


def render(observation: Observation) -> str:
    """Prompt and answer as a person reads them."""
    return f"{observation.fields['prompt']}|{observation.fields['answer']}"


def _checked(drawn: Sequence[int], longest: int) -> list[int]:
    if len(drawn) > longest:
        raise InvalidAction(f"an answer has at most {longest} tokens; {len(drawn)} were drawn")
    ids = []
    for action in drawn:
        if isinstance(action, bool | np.bool_) or not isinstance(action, int | np.integer) or not 0 <= action < ACTIONS:
            raise InvalidAction(f"{action!r} is no action; an integer from 0 to {ACTIONS - 1} is right ({END} ends the answer)")
        ids.append(int(action))
    return ids
