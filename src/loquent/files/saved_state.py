"""What is read back from a saved state, checked: a value out of its range is refused with the name of its
field, never taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from loquent.core.guards.json_files import shown
from loquent.errors import BadCheckpoint

# of a counter: beyond it floats, and so JSON of other programs, no longer tell whole numbers apart
MOST = 2**53


def count(state: Mapping[str, Any], name: str, most: int = MOST, least: int = 0) -> int:
    """The whole number under a name, from `least` to `most`.

    Raises:
        BadCheckpoint: it is missing, no whole number, or out of its range.
    """
    value = field(state, name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(name, value, f"a whole number from {least} to {most}")
    return value


def number(state: Mapping[str, Any], name: str, low: float = -math.inf, *, finite: bool = True) -> float:
    """The number under a name, at least `low`; as a float.

    Args:
        finite: whether infinities are refused; NaN always is.

    Raises:
        BadCheckpoint: it is missing, no number, or out of its range.
    """
    value = field(state, name)
    try:
        made = math.nan if isinstance(value, bool) or not isinstance(value, int | float) else float(value)
    except OverflowError:
        made = math.nan
    if math.isnan(made) or made < low or (finite and math.isinf(made)):
        raise wrong(name, value, "a finite number" + ("" if low == -math.inf else f" of at least {low:g}"))
    return made


def flag(state: Mapping[str, Any], name: str) -> bool:
    """True or false under a name; BadCheckpoint where it is something else."""
    value = field(state, name)
    if not isinstance(value, bool):
        raise wrong(name, value, "true or false")
    return value


def text(state: Mapping[str, Any], name: str) -> str:
    """The text under a name; BadCheckpoint where it is something else."""
    value = field(state, name)
    if not isinstance(value, str):
        raise wrong(name, value, "a text")
    return value


def items(state: Mapping[str, Any], name: str) -> list[Any]:
    """The list under a name; BadCheckpoint where it is something else."""
    value = field(state, name)
    if not isinstance(value, list | tuple):
        raise wrong(name, value, "a list")
    return list(value)


def part(state: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object under a name; BadCheckpoint where it is something else."""
    value = field(state, name)
    if not isinstance(value, Mapping):
        raise wrong(name, value, "an object")
    return value


def field(state: Mapping[str, Any], name: str) -> Any:
    """What stands under a name; BadCheckpoint where nothing does."""
    if not isinstance(state, Mapping):
        raise BadCheckpoint(
            f"the saved state is {shown(state)} where an object with the field {name} is right"
        )
    if name not in state:
        raise BadCheckpoint(f"the saved state lacks the field {name}")
    return state[name]


def wrong(name: str, value: Any, right: str) -> BadCheckpoint:
    """The error of a field that holds something else."""
    return BadCheckpoint(f"{name} = {shown(value)} in the saved state; {right} is right")


@contextmanager
def whole() -> Iterator[None]:
    """Around the taking back of a state: what the libraries' loaders raise becomes a BadCheckpoint."""
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
            f"the state is not whole, or another model's ({type(error).__name__}: {why})"
        ) from error
