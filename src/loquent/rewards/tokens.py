"""Rewards per token: a constant, a value per token id, or a penalty for too many tokens.

The first two are the `TokenReward`s in the code of arXiv:2206.11871.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.core import schema
from loquent.core.episode import Episode, Turn
from loquent.core.guards import json_files, opening
from loquent.core.metric import Context
from loquent.core.options import takes
from loquent.core.settings import setting
from loquent.core.values import EMPTY
from loquent.errors import BadSetting
from loquent.rewards.terms import TokenFunction

VALUES = schema.check_of(Mapping[str, float])  # of a file


@dataclass(frozen=True, kw_only=True)
class ConstantOptions:
    """The options of the reward `token_constant`."""

    value: float = setting(0.0, "the reward of every token of an answer, its end marker included")


@dataclass(frozen=True, kw_only=True)
class SpecifiedOptions:
    """The options of the reward `token_specified`."""

    values: Mapping = setting(EMPTY, "the values of tokens, as {id: value}; the value of other tokens is 0")
    file: str = setting("", "a JSON file with such a mapping; replaces `values`", file=True)
    scale: float = setting(1.0, "the reward of a token is scale * value + shift")
    shift: float = setting(0.0, "see scale; the reward of a token without a value")


@dataclass(frozen=True, kw_only=True)
class OverlongOptions:
    """The options of the reward `overlong_penalty`."""

    longest: int = setting(why="L_max: the tokens of an answer, its end marker included", low=1)
    margin: int = setting(
        why="L_cache: over so many tokens before `longest` the penalty falls to -1",
        source="2503.14476 eq. 13",
        low=1,
    )

    def __post_init__(self) -> None:
        if self.margin > self.longest:
            raise BadSetting(
                f"margin = {self.margin} is above longest = {self.longest}; set margin to at most longest"
            )


@dataclass(frozen=True)
class ByToken:
    """The reward of a token: scale * value + shift; a token without a value has the value 0."""

    values: Mapping[int, float]
    scale: float = 1.0
    shift: float = 0.0

    def __call__(self, episode: Episode, turn: Turn) -> list[float]:
        """One reward per token of a turn; none where the turn has no tokens."""
        return self.of(turn.tokens.ids.tolist() if turn.tokens is not None else ())

    def of(self, ids: Iterable[int]) -> list[float]:
        """One reward per token id."""
        return [self.scale * self.values.get(id, 0.0) + self.shift for id in ids]


@dataclass(frozen=True)
class Overlong:
    """The soft punishment of long answers (DAPO, arXiv:2503.14476 eq. 13), on the last token."""

    longest: int
    margin: int

    def __call__(self, episode: Episode, turn: Turn) -> list[float]:
        """One reward per token of a turn; none where the turn has no tokens."""
        length = len(turn.tokens.ids) if turn.tokens is not None else 0
        return [*[0.0] * (length - 1), self.of(length)][:length]

    def of(self, length: int) -> float:
        """The penalty of an answer of so many tokens, from -1 to 0."""
        over = length - (self.longest - self.margin)
        return 0.0 if over <= 0 else -1.0 if length > self.longest else -over / self.margin


@takes(ConstantOptions)
def token_constant(context: Context, options: ConstantOptions) -> TokenFunction:
    """The same reward for every token of an answer, such as a cost of length."""
    return TokenFunction(ByToken({}, shift=options.value))


@takes(OverlongOptions)
def overlong_penalty(context: Context, options: OverlongOptions) -> TokenFunction:
    """From 0 to -1 over the last `margin` tokens before `longest`, and -1 beyond: DAPO's soft punishment.

    Raises:
        BadSetting: `longest` or `margin` is missing, or `margin` is above `longest`.
    """
    return TokenFunction(Overlong(options.longest, options.margin))


@takes(SpecifiedOptions)
def token_specified(context: Context, options: SpecifiedOptions) -> TokenFunction:
    """A reward per token by its id, from a table in the recipe or in a file.

    Raises:
        BadSetting: a key is not a token id, a value is not a finite number, the file cannot be read, or not
            exactly one of `values` and `file` is set.
    """
    if bool(options.values) == bool(options.file):
        problem = "has both values and file" if options.values else "has neither values nor file"
        raise BadSetting(f"token_specified {problem}; set either values or a file")
    values = options.values or _read(options.file)
    return TokenFunction(
        ByToken({_id(id): _value(id, value) for id, value in values.items()}, options.scale, options.shift)
    )


def _read(file: str) -> Mapping[str, float]:
    try:
        values: Mapping[str, float] = VALUES(json_files.loads(opening.whole(Path(file))))
    except (OSError, ValueError) as error:
        problem = f"token_specified.file = {file!r} cannot be read ({error})"
        raise BadSetting(f"{problem}; name a JSON file that maps token ids to numbers") from error
    return values


def _id(id: Any) -> int:
    digits = str(id)
    if isinstance(id, bool) or not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise BadSetting(f"token_specified: {id!r} is not a token id; it must be an integer of at least 0")
    return int(digits)


def _value(id: Any, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise BadSetting(f"token_specified: token {id} has the value {value!r}; it must be a finite number")
    return float(value)
