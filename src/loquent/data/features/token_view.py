"""A prompt and an answer as token ids: the observation of Gymnasium's token form.

The token form is the MDP of arXiv:2210.01241 sec. 3.1 over bytes: an action is a byte of UTF-8 or the end
token. A `TokenView` makes the observation while an answer grows. The Gymnasium adapter keeps the list of
drawn ids and gets an array from the view. It gives the task `view.text(drawn)` when the list ends with `END`
(stopped "end") or has `answer_length` ids (stopped "length").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from loquent.core.settings import check_ranges, setting
from loquent.core.task import Observation
from loquent.errors import InvalidAction

END = 256  # the action that ends an answer; 0 to 255 are bytes
PAD = 257  # never an action
ACTIONS = 257
Arrays = dict[str, NDArray[np.generic]]


@dataclass(frozen=True, kw_only=True)
class TokenView:
    """Prompt and answer so far as fixed-length arrays of token ids, padded on the left.

    `prompt` i64[P], `answer` i64[T] and `input` i64[P + T] hold ids from 0 to 257.
    `prompt_real`, `answer_real` and `input_real` are 1 for ids and 0 for padding. `input` is the prompt and
    the answer without padding between them. A prompt longer than P loses its beginning.
    """

    prompt_length: int = setting(512, "P: the number of the prompt's last bytes in an observation", low=1)
    answer_length: int = setting(256, "T: the most tokens in an answer", low=1)

    def __post_init__(self) -> None:
        check_ranges(self)

    @property
    def space(self) -> spaces.Dict:
        """The space of `array`."""
        lengths = {
            "prompt": self.prompt_length,
            "answer": self.answer_length,
            "input": self.prompt_length + self.answer_length,
        }
        ids = {name: spaces.Box(0, PAD, (length,), np.int64) for name, length in lengths.items()}
        real = {f"{name}_real": spaces.MultiBinary(length) for name, length in lengths.items()}
        return spaces.Dict({**ids, **real})

    @property
    def action_space(self) -> spaces.Discrete:
        """256 bytes and the end token."""
        return spaces.Discrete(ACTIONS)

    def array(self, observation: Observation, drawn: Sequence[int] = ()) -> Arrays:
        """The arrays of an observation of the task after the actions `drawn`.

        The actions may include the end token.

        Raises:
            InvalidAction: an action is not an integer from 0 to 256, or there are more than `answer_length`.
        """
        return self.join(encode(observation.fields["prompt"]), _checked(drawn, self.answer_length))

    def join(self, prompt: Sequence[int], answer: Sequence[int]) -> Arrays:
        """The arrays of the ids of a prompt and an answer."""
        prompt = list(prompt)[-self.prompt_length :]
        parts = {"prompt": (prompt, self.prompt_length), "answer": (answer, self.answer_length)}
        parts["input"] = ([*prompt, *answer], self.prompt_length + self.answer_length)
        arrays: Arrays = {}
        for name, (ids, length) in parts.items():
            arrays[name] = np.array([PAD] * (length - len(ids)) + list(ids), dtype=np.int64)
            arrays[f"{name}_real"] = np.array([0] * (length - len(ids)) + [1] * len(ids), dtype=np.int8)
        return arrays

    def stop_reason(self, drawn: Sequence[int]) -> str | None:
        """Why an answer has ended: "end", "length", or None before its end."""
        if drawn and drawn[-1] == END:
            return "end"
        return "length" if len(drawn) >= self.answer_length else None

    def text(self, drawn: Sequence[int]) -> str:
        """The text of actions; bytes that are not valid UTF-8 become U+FFFD."""
        ids = _checked(drawn, self.answer_length)
        return bytes(i for i in ids if i != END).decode("utf-8", errors="replace")


def encode(text: str) -> tuple[int, ...]:
    """The bytes of a text; a lone surrogate, which UTF-8 cannot encode, becomes "?"."""
    return tuple(text.encode("utf-8", errors="replace"))


def _checked(drawn: Sequence[int], longest: int) -> list[int]:
    if len(drawn) > longest:
        raise InvalidAction(f"an answer has {len(drawn)} tokens; it must have at most {longest}")
    ids = []
    for action in drawn:
        if (
            isinstance(action, bool | np.bool_)
            or not isinstance(action, int | np.integer)
            or not 0 <= action < ACTIONS
        ):
            problem = f"{action!r} is not an action"
            raise InvalidAction(
                f"{problem}; it must be an integer from 0 to {ACTIONS - 1} ({END} ends the answer)"
            )
        ids.append(int(action))
    return ids
