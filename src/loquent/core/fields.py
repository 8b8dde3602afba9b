"""Fields of JSON objects, checked as they are read: what does not fit is a ValueError that names its place,
the value and what would be right.

A check takes a value and gives what it stands for. Its error begins where the name of the field ends (".guess
is null; a finite number is right"), so that whoever knows the name puts it in front.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from loquent.core.guards.json_files import shown
from loquent.core.values import Record

Check = Callable[[Any], Any]

LARGEST = sys.float_info.max  # an integer beyond it is no finite number either
LEVELS = 64  # of lists and objects in one another; Python's own limit would be met anywhere later


def wrong(value: Any, right: str) -> ValueError:
    """The error of a value that does not fit."""
    return ValueError(f" is {shown(value)}; {right} is right")


def check_object(value: Any, checks: Mapping[str, Check], required: Iterable[str]) -> dict[str, Any]:
    """The fields of an object, each as its check gives it back; an unknown or a missing one is an error."""
    if not isinstance(value, dict):
        raise wrong(value, "an object {...}")
    made, name = {}, ""
    try:
        for name, given in value.items():
            made[name] = checks[name](given)
    except KeyError:
        raise ValueError(f" has a field {name!r:.40}; known are {', '.join(checks)}") from None
    except ValueError as error:
        raise ValueError(f".{name}{error}") from None
    for name in required:
        if name not in made:
            raise ValueError(f" lacks the field {name!r}")
    return made


def text(value: Any) -> str:
    """A text."""
    if isinstance(value, str):
        return value
    raise wrong(value, "a text")


def text_or_null(value: Any) -> str | None:
    """A text, or null."""
    if value is None or isinstance(value, str):
        return value
    raise wrong(value, "a text or null")


def integer(value: Any) -> int:
    """A whole number; true and false are none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise wrong(value, "a whole number")


def number(value: Any) -> float:
    """A finite number, as it is; true and false are none."""
    if isinstance(value, float | int) and -LARGEST <= value <= LARGEST and not isinstance(value, bool):
        return value
    raise wrong(value, "a finite number")


def choice(names: tuple[str, ...]) -> Check:
    """A check for one of some texts."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and value in names:
            return value
        raise wrong(value, " or ".join(names))

    return check


def record_of(check: Check) -> Check:
    """A check for an object of any names, whose values all pass `check`."""

    def made(value: Any) -> Record:
        if not isinstance(value, dict):
            raise wrong(value, "an object {...}")
        found, name = {}, ""
        try:
            for name, given in value.items():
                found[name] = check(given)
        except ValueError as error:
            raise ValueError(f".{name:.40}{error}") from None
        return Record(found)

    return made


def tuple_of(check: Check) -> Check:
    """A check for a list whose items all pass `check`."""

    def made(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise wrong(value, "a list [...]")
        found: list[Any] = []
        try:
            for item in value:
                found.append(check(item))
        except ValueError as error:
            raise ValueError(f"[{len(found)}]{error}") from None
        return tuple(found)

    return made


def json_value(value: Any, levels: int = LEVELS) -> Any:
    """Whatever JSON can hold, as a value: objects become Records, lists tuples."""
    if isinstance(value, dict | list):
        if not levels:
            raise ValueError(f" is nested too deep; {LEVELS} levels are right")
        inner: Check = lambda item: json_value(item, levels - 1)  # noqa: E731
        return (record_of(inner) if isinstance(value, dict) else tuple_of(inner))(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise wrong(value, "a finite number, a text, true, false, null, a list or an object")


json_object = record_of(json_value)
