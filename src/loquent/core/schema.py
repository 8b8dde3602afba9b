"""Records: JSON values read as frozen dataclasses, whose checks are compiled once a class.

The type of a field says which JSON values it may have: `str`, `int`, `float` (finite), `bool`, `None` and
`Literal`; `tuple[X, ...]` or `tuple[X, Y]` for a list; `Mapping[str, X]`, or `Annotated[Record, X]`, for an
object of any names, and `Record` for any object; a dataclass for an object of its fields; `Any` for a value
that is not checked; and unions of these. `Annotated[X, check]` adds a check of one's own, which returns the
value or raises ValueError. The bounds of `setting` hold. A field with `compare=False` is in memory only.

A check takes a JSON value and returns the Python value it stands for. For a value that does not fit it raises
ValueError with the place, what is allowed and the value. The message begins where the field's name ends
(".guess must be a finite number, got null"), so that a caller who knows the name can put it in front.
"""

from __future__ import annotations

import dataclasses
import math
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from loquent.core.guards import json_files
from loquent.core.guards.json_files import shown
from loquent.core.settings import range_problem, range_text
from loquent.core.values import Record
from loquent.errors import BadCheckpoint, LoquentError

Check = Callable[[Any], Any]
T = TypeVar("T")

LARGEST = sys.float_info.max  # a larger integer is no finite number
LEVELS = 64  # of nested lists and objects; below Python's own recursion limit
NAMES = {
    str: "a text",
    int: "an integer",
    float: "a finite number",
    bool: "true or false",
    tuple: "a list [...]",
    dict: "an object {...}",
    types.NoneType: "null",
}


def read(cls: type[T], value: Any, place: str = "", *, extra: bool = False) -> T:
    """A record from a JSON value.

    Args:
        place: the name of the value in error messages.
        extra: whether objects may have other fields, which are ignored.

    Raises:
        ValueError: a field is missing, unknown or does not fit; the message names it.
    """
    hint: Any = cls
    try:
        found: T = check_of(hint, extra)(value)
        return found
    except RecursionError:  # a record in records of its class
        raise ValueError(f"{place or 'it'} is nested too deep") from None
    except ValueError as error:
        raise ValueError(message_of(error, place)) from None


def load(
    cls: type[T],
    path: Path,
    advice: str = "",
    *,
    error: type[LoquentError] = BadCheckpoint,
    nan: json_files.NaN = "refused",
    extra: bool = False,
) -> T:
    """A record from a JSON file, by the rules of `read` and of `json_files.load`.

    Args:
        advice: what the user should do when the file cannot be read; the end of the error message.
        error: the type of the error.
    """
    value = json_files.load(path, advice, error=error, nan=nan)
    try:
        return read(cls, value, extra=extra)
    except ValueError as wrong:
        raise error(f"{path}: {wrong}" + (f"; {advice}" if advice else "")) from None


def message_of(error: ValueError, place: str = "") -> str:
    """The message of a check's error with the name of the value in front; without a name it is "it"."""
    message = str(error)
    if place or message[0] not in ".:":
        return (place or "it") + message
    return message.lstrip(".: ")


def wrong(value: Any, allowed: str) -> ValueError:
    """The error for a value that does not fit."""
    return ValueError(f" must be {allowed}, got {shown(value)}")


@cache
def check_of(hint: Any, extra: bool = False) -> Check:
    """The check for the values of a type; `extra` as in `read`."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated and arguments[0] is Record:
        return _record_of(check_of(arguments[1], extra))
    if origin is Annotated:
        return _all_of((check_of(arguments[0], extra), *arguments[1:]))
    if origin in (types.UnionType, typing.Union):
        return _any_of(arguments, extra)
    if origin is Literal:
        return _choice(arguments)
    if origin is tuple and arguments[1:] == (...,):
        return _list_of(check_of(arguments[0], extra))
    if origin is tuple:
        return _fixed([check_of(argument, extra) for argument in arguments])
    if origin is not None and issubclass(origin, Mapping):
        return _record_of(check_of(arguments[1], extra))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _object_of(hint, extra)
    return LEAVES[hint]


def filled(value: str) -> str:
    """A further check for a text that is not blank: `Annotated[str, filled]`."""
    if value.strip():
        return value
    raise wrong(value, "a text that is not empty")


def number(value: Any) -> float:
    """A check for a finite number; true and false are refused."""
    if isinstance(value, float | int) and -LARGEST <= value <= LARGEST and not isinstance(value, bool):
        return value
    raise wrong(value, NAMES[float])


def json_value(value: Any, levels: int = LEVELS) -> Any:
    """A check for any JSON value; returns it with objects as Records and lists as tuples."""
    if isinstance(value, dict | list):
        if not levels:
            raise ValueError(f" is nested too deep; at most {LEVELS} levels are allowed")
        inner: Check = lambda item: json_value(item, levels - 1)  # noqa: E731
        return (_record_of(inner) if isinstance(value, dict) else _list_of(inner))(value)
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise wrong(value, "a finite number, a text, true, false, null, a list or an object")


def _leaf(kind: type) -> Check:
    def check(value: Any) -> Any:
        if type(value) is kind:  # true and false are no integers
            return value
        raise wrong(value, NAMES[kind])

    return check


def _choice(allowed: tuple[Any, ...]) -> Check:
    known, names = {(type(value), value) for value in allowed}, ", ".join(map(repr, allowed))

    def check(value: Any) -> Any:
        if isinstance(value, str | int) and (type(value), value) in known:
            return value
        raise wrong(value, f"one of {names}" if len(allowed) > 1 else names)

    return check


def _all_of(checks: tuple[Check, ...]) -> Check:
    """A check that passes a value through all of `checks`, in their order."""

    def check(value: Any) -> Any:
        for each in checks:
            try:
                value = each(value)
            except ValueError as error:
                raise (error if str(error) else _nameless(value)) from None
        return value

    return check


def _nameless(value: Any) -> ValueError:
    """The error for a value that a check of one's own refused without a message."""
    return ValueError(f" is not allowed: {shown(value)}")


def _any_of(members: tuple[Any, ...], extra: bool) -> Check:
    """The check for a union: the type of the value chooses the member."""
    checks: dict[type, Check] = {}
    for member in members:
        for kind in _kinds(member):
            checks.setdefault(kind, check_of(member, extra))
    first = {_kinds(member)[0] for member in members}
    allowed = " or ".join(name for kind, name in NAMES.items() if kind in first)

    def check(value: Any) -> Any:
        own = checks.get(type(value))
        if own is None:
            raise wrong(value, allowed)
        return own(value)

    return check


def _kinds(hint: Any) -> tuple[type, ...]:
    """The Python types of the JSON values that a type may stand for; the first has a name in `NAMES`."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _kinds(arguments[0])
    if origin is Literal:
        return tuple(map(type, arguments))
    if hint is float:
        return float, int
    if origin is tuple:
        return tuple, list
    return (hint,) if hint in NAMES else (dict, Record)


def _record_of(check: Check) -> Check:
    """A check for an object of any names, whose values all pass `check`; returns a Record."""

    def check_values(value: Any) -> Record:
        if not isinstance(value, dict):
            raise wrong(value, NAMES[dict])
        fields, name = {}, ""
        try:
            for name, item in value.items():
                fields[name] = check(item)
        except ValueError as error:
            label = name[:40] if name.isprintable() else shown(name)
            raise ValueError(f".{label}{error}") from None
        return Record(fields)

    return check_values


def _list_of(check: Check) -> Check:
    """A check for a list whose items all pass `check`; returns a tuple."""

    def check_items(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise wrong(value, NAMES[tuple])
        items: list[Any] = []
        try:
            for item in value:
                items.append(check(item))
        except ValueError as error:
            raise ValueError(f"[{len(items)}]{error}") from None
        return tuple(items)

    return check_items


def _fixed(checks: list[Check]) -> Check:
    """A check for a list with one item for each check; returns a tuple."""

    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            raise wrong(value, f"a list of {len(checks)}")
        own = iter(checks)
        return _list_of(lambda item: next(own)(item))(value)

    return check


def _object_of(cls: type, extra: bool) -> Check:
    """A check for an object of the fields of a dataclass; returns an instance."""
    stored = [field for field in dataclasses.fields(cls) if field.init and field.compare]
    missing = dataclasses.MISSING
    needed = [field.name for field in stored if field.default is field.default_factory is missing]

    @cache
    def compiled() -> dict[str, Check]:  # at the first value, because a record may hold records of its class
        hints = typing.get_type_hints(cls, include_extras=True)
        return {field.name: _bounded(check_of(hints[field.name], extra), field) for field in stored}

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise wrong(value, NAMES[dict])
        checks = compiled()
        if extra:
            value = {name: value[name] for name in checks if name in value}
        for name in value:
            if name not in checks:
                raise ValueError(f" has an unknown field {name!r:.40}; known: {', '.join(checks)}")
        fields, name = {}, ""
        try:
            for name, item in value.items():
                fields[name] = checks[name](item)
        except ValueError as error:
            raise ValueError(f".{name}{error}") from None
        try:
            return cls(**fields)
        except TypeError:
            for name in needed:
                if name not in fields:
                    raise ValueError(f" lacks the field {name!r}") from None
            raise
        except ValueError as error:  # of its own __post_init__
            message = re.sub(rf"^{cls.__name__}\.", ".", str(error)) or str(_nameless(value))
            raise ValueError(message if message[0] in " .[" else f": {message}") from None

    return check


def _bounded(check: Check, field: dataclasses.Field[Any]) -> Check:
    """The check with the range of a field's `setting`."""
    limits = range_text(field)
    if not limits:
        return check

    def check_range(value: Any) -> Any:
        value = check(value)
        if range_problem(field, value):
            raise wrong(value, limits)
        return value

    return check_range


LEAVES: dict[Any, Check] = {
    **{kind: _leaf(kind) for kind in (str, int, bool, types.NoneType)},
    float: number,
    Record: _record_of(json_value),
    Any: lambda value: value,
}
