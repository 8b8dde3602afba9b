"""Checks for the fields of JSON objects.

A check takes a JSON value and returns the Python value it stands for. For a value that does not fit it raises
ValueError with the place, what is allowed and the value. The message begins where the field's name ends
(".guess must be a finite number, got null"), so that a caller who knows the name can put it in front.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from loquent.core.guards.json_files import shown
from loquent.core.values import Record

Check = Callable[[Any], Any]

LARGEST = sys.float_info.max  # a larger integer is no finite number
LEVELS = 64  # of nested lists and objects; below Python's own recursion limit


def wrong(value: Any, allowed: str) -> ValueError:
    """The error for a value that does not fit."""
    return ValueError(f" must be {allowed}, got {shown(value)}")


def check_object(value: Any, checks: Mapping[str, Check], required: Iterable[str]) -> dict[str, Any]:
    """The fields of an object, each as its check returns it.

    Raises:
        ValueError: a field is unknown, missing or does not fit.
    """
    if not isinstance(value, dict):
        raise wrong(value, "an object {...}")
    fields, name = {}, ""
    try:
        for name, item in value.items():
            fields[name] = checks[name](item)
    except KeyError:
        raise ValueError(f" has an unknown field {name!r:.40}; known: {', '.join(checks)}") from None
    except ValueError as error:
        raise ValueError(f".{name}{error}") from None
    for name in required:
        if name not in fields:
            raise ValueError(f" lacks the field {name!r}")
    return fields


def text(value: Any) -> str:
    """A check for a text."""
    if isinstance(value, str):
        return value
    raise wrong(value, "a text")


def text_or_null(value: Any) -> str | None:
    """A check for a text or null."""
    if value is None or isinstance(value, str):
        return value
    raise wrong(value, "a text or null")


def integer(value: Any) -> int:
    """A check for an integer; true and false are refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise wrong(value, "an integer")


def number(value: Any) -> float:
    """A check for a finite number; true and false are refused."""
    if isinstance(value, float | int) and -LARGEST <= value <= LARGEST and not isinstance(value, bool):
        return value
    raise wrong(value, "a finite number")


def choice(names: tuple[str, ...]) -> Check:
    """A check for one of several texts."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and value in names:
            return value
        raise wrong(value, f"one of {', '.join(names)}")

    return check


def record_of(check: Check) -> Check:
    """A check for an object of any names, whose values all pass `check`; returns a Record."""

    def check_values(value: Any) -> Record:
        if not isinstance(value, dict):
            raise wrong(value, "an object {...}")
        fields, name = {}, ""
        try:
            for name, item in value.items():
                fields[name] = check(item)
        except ValueError as error:
            raise ValueError(f".{name:.40}{error}") from None
        return Record(fields)

    return check_values


def tuple_of(check: Check) -> Check:
    """A check for a list whose items all pass `check`; returns a tuple."""

    def check_items(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise wrong(value, "a list [...]")
        items: list[Any] = []
        try:
            for item in value:
                items.append(check(item))
        except ValueError as error:
            raise ValueError(f"[{len(items)}]{error}") from None
        return tuple(items)

    return check_items


def json_value(value: Any, levels: int = LEVELS) -> Any:
    """A check for any JSON value; returns it with objects as Records and lists as tuples."""
    if isinstance(value, dict | list):
        if not levels:
            raise ValueError(f" is nested too deep; at most {LEVELS} levels are allowed")
        inner: Check = lambda item: json_value(item, levels - 1)  # noqa: E731
        return (record_of(inner) if isinstance(value, dict) else tuple_of(inner))(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise wrong(value, "a finite number, a text, true, false, null, a list or an object")


json_object = record_of(json_value)
