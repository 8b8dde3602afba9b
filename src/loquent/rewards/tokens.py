"""Rewards of single tokens: the same for each, or by which token it is (the `TokenReward`s of the code of arXiv:2206.11871)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent.episode import Episode, Turn
from loquent.errors import BadSetting
from loquent.metric import Context
from loquent.metrics.options import takes
from loquent.rewards.terms import TokenFunction
from loquent.settings import setting
from loquent.values import EMPTY


@dataclass(frozen=True, kw_only=True)
class ConstantOptions:
    """What the reward `token_constant` may be told."""

    value: float = setting(0.0, "what every token of an answer earns, its end marker included")


@dataclass(frozen=True, kw_only=True)
class SpecifiedOptions:
    """What the reward `token_specified` may be told."""

    values: Mapping = setting(EMPTY, "what tokens are worth, as {id: value}; others are worth 0")
    file: str = setting("", "a JSON file with such a mapping, in place of `values`")
    scale: float = setting(1.0, "a token earns scale * value + shift")
    shift: float = setting(0.0, "see scale; a token without a value earns the shift alone")


@dataclass(frozen=True)
class ByToken:
    """What a token earns: scale * value + shift, its value being 0 where it has none."""

    values: Mapping[int, float]
    scale: float = 1.0
    shift: float = 0.0

    def __call__(self, episode: Episode, turn: Turn) -> list[float]:
        """One number for each token of a turn that has tokens."""
        return self.of(turn.tokens.ids.tolist() if turn.tokens is not None else ())

    def of(self, ids: Iterable[int]) -> list[float]:
        """One number for each of these tokens."""
        return [self.scale * self.values.get(id, 0.0) + self.shift for id in ids]


@takes(ConstantOptions)
def token_constant(context: Context, options: ConstantOptions) -> TokenFunction:
    """The registered reward `token_constant`."""
    return TokenFunction(ByToken({}, shift=options.value))


@takes(SpecifiedOptions)
def token_specified(context: Context, options: SpecifiedOptions) -> TokenFunction:
    """The registered reward `token_specified`.

    Raises:
        BadSetting: a key is no id of a token, a value is no finite number, the file cannot be read, or both or none of `values` and `file`
            are given.
    """
    if bool(options.values) == bool(options.file):
        raise BadSetting("token_specified takes either values or a file")
    given = options.values or _read(options.file)
    return TokenFunction(ByToken({_id(id): _value(id, value) for id, value in given.items()}, options.scale, options.shift))


def _read(file: str) -> Mapping[Any, Any]:
    try:
        given = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadSetting(f"token_specified.file = {file!r} cannot be read as JSON ({error})") from error
    if not isinstance(given, dict):
        raise BadSetting(f"token_specified.file = {file!r} holds no mapping from ids of tokens to numbers")
    return given


def _id(given: Any) -> int:
    said = str(given)
    if isinstance(given, bool) or not (said.isascii() and said.isdigit() and len(said) < 10):
        raise BadSetting(f"token_specified: {given!r} is no id of a token; a whole number of at least 0 is right")
    return int(said)


def _value(id: Any, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise BadSetting(f"token_specified: token {id} has the value {given!r}; a finite number is right")
    return float(given)
