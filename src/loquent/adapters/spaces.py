"""The three forms of an environment: the spaces, how an action becomes an answer, and the observations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces

from loquent.adapters.gymnasium_errors import InvalidAction
from loquent.adapters.tokens import Bytes, TokenizerFile, Vocabulary
from loquent.core.actions import ActionSet
from loquent.core.agent import Answer
from loquent.core.episode import TASK, Tokens
from loquent.core.live import Live
from loquent.core.task import Stopped
from loquent.core.values import Record
from loquent.data.features.spaces import AnyText
from loquent.errors import BadSetting, kind_of, naming

View = tuple[Any, Any]  # (space, function from an observation to an array)


class Form(Protocol):
    """How an environment reads actions and shows observations."""

    action_space: spaces.Space[Any]
    observation_space: spaces.Space[Any]

    def begin(self, game: Live) -> None:
        """Start an answer: the observation of the episode is new."""
        ...

    def act(self, game: Live, action: Any) -> tuple[str, Record] | None:
        """Take an action in an episode: the text of the answer and its rewards.

        None if the answer is not complete.

        Raises:
            InvalidAction: the action has a wrong type, or is not a number in the action space.
        """
        ...

    def observe(self, game: Live) -> Any:
        """The observation in `observation_space`."""
        ...


class _ViewedForm:
    """Observations as text of at most `max_observation` characters, or as the output of a view."""

    def __init__(self, view: View | None, max_observation: int) -> None:
        self._view, self._longest = view, max_observation
        self.observation_space: spaces.Space[Any] = view[0] if view else AnyText(max_observation)

    def begin(self, game: Live) -> None:
        """Does nothing: each action is a complete answer."""

    def observe(self, game: Live) -> Any:
        """The text of the observation, or the view's array of it."""
        if self._view:
            return self._view[1](game.step.observation)
        text = game.step.observation.text
        if len(text) > self._longest:
            what = (
                f"an observation has {len(text):,} characters, more than max_observation = {self._longest:,}"
            )
            raise BadSetting(f"{what}; set a larger max_observation")
        return text


class TextForm(_ViewedForm):
    """An action is a complete answer; one with more than `max_length` characters is truncated."""

    def __init__(self, view: View | None, max_observation: int, max_length: int) -> None:
        super().__init__(view, max_observation)
        self._max_length = max_length
        self.action_space: spaces.Space[Any] = AnyText(max_length)

    def act(self, game: Live, action: Any) -> tuple[str, Record] | None:
        """Answer with the text."""
        if not isinstance(action, str):
            raise InvalidAction(f"the action {action!r:.80} is {kind_of(action)}; it must be a string")
        stopped: Stopped = "length" if len(action) > self._max_length else "end"
        text = action[: self._max_length]
        return text, game.act(Answer(text, stopped))


class IndexForm(_ViewedForm):
    """An action is the number of one of the task's actions."""

    def __init__(self, view: View | None, max_observation: int, actions: ActionSet) -> None:
        super().__init__(view, max_observation)
        self._actions, self._size = actions, len(actions)
        self.action_space: spaces.Space[Any] = spaces.Discrete(self._size)

    def act(self, game: Live, action: Any) -> tuple[str, Record] | None:
        """Answer with the text of the action; with "" for an empty slot, which the task judges."""
        number = action if type(action) is int and 0 <= action < self._size else _number(action, self._size)
        try:
            text = self._actions.text(number, game.step.observation.legal)
        except LookupError:
            text = ""
        return text, game.choose(text)


class TokenForm:
    """An action is a token; an end token or the longest answer completes an answer."""

    def __init__(self, vocabulary: Vocabulary, seat: str) -> None:
        self._vocabulary, self._seat = vocabulary, seat
        self.action_space: spaces.Space[Any] = vocabulary.actions
        self.observation_space: spaces.Space[Any] = vocabulary.space
        self._size = int(vocabulary.actions.n)
        self._drawn: list[int] = []
        self._prompt: Sequence[int] = ()

    def begin(self, game: Live) -> None:
        """Encode all that the seat has read and written so far as the prompt."""
        self._drawn = []
        turns = [
            turn.text
            for turn in game.turns
            if turn.seat == self._seat or (turn.seat == TASK and turn.to == self._seat)
        ]
        instruction = game.task.instruction(game.row, self._seat)
        texts = [instruction, *turns] if instruction else turns
        self._prompt = self._vocabulary.encode(
            "\n".join([*(text.rstrip("\n") for text in texts[:-1]), *texts[-1:]])
        )

    def act(self, game: Live, action: Any) -> tuple[str, Record] | None:
        """Add a token to the answer, and give the answer when it is complete."""
        number = _number(action, self._size)
        self._drawn.append(number)
        ended = number == self._vocabulary.end
        if not ended and len(self._drawn) < self._vocabulary.length:
            return None
        unknown = np.full(len(self._drawn), np.nan)  # the log-probabilities of these tokens are unknown
        tokens = Tokens(np.array(self._drawn, dtype=np.int64), unknown, unknown)
        text = self._vocabulary.text(self._drawn)
        return text, game.act(Answer(text, "end" if ended else "length", tokens))

    def observe(self, game: Live) -> Any:
        """The arrays of the prompt and of the tokens of the answer so far."""
        return self._vocabulary.array(self._prompt, self._drawn)


def vocabulary_of(tokenizer: Any, prompt_length: int, answer_length: int) -> Vocabulary:
    """The vocabulary of a folder with a tokenizer.json; bytes for None.

    Raises:
        BadSetting: `tokenizer` is neither None nor a path.
    """
    if tokenizer is not None and not isinstance(tokenizer, str | Path):
        what = f"{naming('tokenizer', tokenizer)}"
        raise BadSetting(f"{what}; it must be the path of a folder with a tokenizer.json")
    if tokenizer:
        return TokenizerFile(tokenizer, prompt_length, answer_length)
    return Bytes(prompt_length, answer_length)


def _number(action: Any, size: int) -> int:
    """An integer from 0 to size - 1, of Python or numpy, or in an array of one number; else InvalidAction."""
    if isinstance(action, np.ndarray) and action.size == 1:
        action = action.reshape(())[()]
    if (
        isinstance(action, bool | np.bool_)
        or not isinstance(action, int | np.integer)
        or not 0 <= action < size
    ):
        raise InvalidAction(f"{action!r:.80} is not an action; it must be an integer from 0 to {size - 1}")
    return int(action)
