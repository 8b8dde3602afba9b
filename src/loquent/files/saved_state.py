"""Checked values of a saved state: a value outside its range raises an error with the name of its field."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from loquent.core.guards.json_files import show
from loquent.errors import BadCheckpoint

# the largest counter: above it floats, and so the JSON of other programs, cannot represent every integer
MOST = 2**53
LARGEST = sys.float_info.max


def count(state: Mapping[str, Any], name: str, most: int = MOST, least: int = 0) -> int:
    """The integer under a name, from `least` to `most`.

    Raises:
        BadCheckpoint: it is missing, not an integer, or outside its range.
    """
    return int(_checked(state, name, int, f"an integer from {least} to {most}", least, most))


def number(state: Mapping[str, Any], name: str, low: float = -LARGEST) -> float:
    """The finite number under a name, at least `low`; as a float.

    Raises:
        BadCheckpoint: it is missing, not a number, or outside its range.
    """
    allowed = "a finite number" + ("" if low == -LARGEST else f" of at least {low:g}")
    return float(_checked(state, name, (int, float), allowed, low))


def flag(state: Mapping[str, Any], name: str) -> bool:
    """The boolean under a name; BadCheckpoint for any other value."""
    return bool(_checked(state, name, bool, "true or false"))


def text(state: Mapping[str, Any], name: str) -> str:
    """The string under a name; BadCheckpoint for any other value."""
    return str(_checked(state, name, str, "a text"))


def items(state: Mapping[str, Any], name: str) -> list[Any]:
    """The list under a name; BadCheckpoint for any other value."""
    return list(_checked(state, name, (list, tuple), "a list"))


def part(state: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under a name; BadCheckpoint for any other value."""
    found: Mapping[str, Any] = _checked(state, name, Mapping, "an object")
    return found


def field(state: Mapping[str, Any], name: str) -> Any:
    """The value under a name; BadCheckpoint if the name is missing."""
    if not isinstance(state, Mapping):
        raise BadCheckpoint(f"the saved state is {show(state)}; it must be an object with the field {name}")
    if name not in state:
        raise BadCheckpoint(f"the saved state lacks the field {name}")
    return state[name]


def wrong(name: str, value: Any, allowed: str) -> BadCheckpoint:
    """The error of a field with a wrong value."""
    return BadCheckpoint(f"{name} = {show(value)} in the saved state; it must be {allowed}")


def _checked(
    state: Mapping[str, Any], name: str, kinds: Any, right: str, low: float = -LARGEST, high: float = LARGEST
) -> Any:
    """The value under a name, of these types and, if it is a number, from `low` to `high`."""
    value = field(state, name)
    fits = isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool))
    if not fits or (isinstance(value, int | float) and not low <= value <= high):
        raise wrong(name, value, right)
    return value


@contextmanager
def restoring() -> Iterator[None]:
    """Turn an error that a library raises while a state is restored into a BadCheckpoint."""
    try:
        yield
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        IndexError,
        OverflowError,
        RuntimeError,
    ) as error:  # torch's raise RuntimeError
        why = " ".join(str(error).split())[:300]
        raise BadCheckpoint(
            f"the state is incomplete, or of another model ({type(error).__name__}: {why})"
        ) from error
