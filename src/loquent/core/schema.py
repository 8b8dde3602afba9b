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
from loquent.core.guards.json_files import show
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
    Record: "an object {...}",
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


class Misfit(ValueError):
    """A value that is none of `allowed`; `place` is that of an item in the list, such as "[1]"."""

    def __init__(self, value: Any, allowed: str, place: str = "") -> None:
        self.value, self.allowed, self.place = value, allowed, place

    def __str__(self) -> str:  # made when it is read: a union tries its members
        return f"{self.place} must be {self.allowed}, got {show(self.value)}"


@dataclasses.dataclass(frozen=True, eq=False)
class Form:
    """How values are written.

    Attributes:
        leaves: the checks of the types that have no types inside.
        extra: as in `read`.
        single: whether a value that is not a list stands for a list of it.
    """

    leaves: Mapping[Any, Check]
    extra: bool = False
    single: bool = False


def check_of(hint: Any, extra: bool = False) -> Check:
    """The check for the JSON values of a type; `extra` as in `read`."""
    return check_in(hint, LOOSE_JSON if extra else JSON)


@cache
def check_in(hint: Any, form: Form) -> Check:
    """The check for the values of a type in a form."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated and arguments[0] is Record:
        return _record_of(check_in(arguments[1], form))
    if origin is Annotated:
        return _all_of(check_in(arguments[0], form), arguments[1:])
    if origin in (types.UnionType, typing.Union):
        return _any_of([check_in(member, form) for member in arguments], types.NoneType in arguments)
    if origin is Literal:
        return _choice(arguments)
    if origin is tuple and arguments[1:] == (...,):
        return _list_of(check_in(arguments[0], form), form.single)
    if origin is tuple:
        return _fixed([check_in(argument, form) for argument in arguments])
    if origin is not None and issubclass(origin, Mapping):
        return _record_of(check_in(arguments[1], form))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _object_of(hint, form)
    return form.leaves.get(hint) or leaf(hint)


def require_text(value: str) -> str:
    """A further check for a text that is not blank: `Annotated[str, filled]`."""
    if value.strip():
        return value
    raise Misfit(value, "a text that is not empty")


def number(value: Any) -> float:
    """A check for a finite number; true and false are refused."""
    if isinstance(value, float | int) and -LARGEST <= value <= LARGEST and not isinstance(value, bool):
        return value
    raise Misfit(value, NAMES[float])


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
    raise Misfit(value, "a finite number, a text, true, false, null, a list or an object")


def leaf(kind: type) -> Check:
    """A check for the instances of a class; true and false are no integers."""
    allowed = NAMES.get(kind, kind.__name__)

    def check(value: Any) -> Any:
        if type(value) is kind or (isinstance(value, kind) and type(value) is not bool):
            return value
        raise Misfit(value, allowed)

    return check


def _choice(allowed: tuple[Any, ...]) -> Check:
    known, names = {(type(value), value) for value in allowed}, ", ".join(map(repr, allowed))

    def check(value: Any) -> Any:
        if isinstance(value, str | int) and (type(value), value) in known:
            return value
        raise Misfit(value, f"one of {names}" if len(allowed) > 1 else names)

    return check


def _all_of(check: Check, further: tuple[Check, ...]) -> Check:
    """A check that passes a value through all checks, in their order."""

    def check_all(value: Any) -> Any:
        value = check(value)
        for each in further:
            try:
                value = each(value)
            except ValueError as error:
                raise ValueError(str(error) or _nameless(value)) from None
        return value

    return check_all


def _nameless(value: Any) -> ValueError:
    """The error for a value that a check of one's own refused without a message."""
    return ValueError(f" is not allowed: {show(value)}")


def _any_of(checks: list[Check], null: bool) -> Check:
    """The check for a union: the first member that the value fits."""

    def check(value: Any) -> Any:
        if null and value is None:
            return None
        allowed: list[str] = []
        for each in checks:
            try:
                return each(value)
            except Misfit as error:
                if error.place:
                    raise
                allowed.append(error.allowed)
        raise Misfit(value, " or ".join(dict.fromkeys(allowed)))

    return check


def _record_of(check: Check) -> Check:
    """A check for an object of any names, whose values all pass `check`; returns a Record."""

    def check_values(value: Any) -> Record:
        if not isinstance(value, dict):
            raise Misfit(value, NAMES[dict])
        fields, name = {}, ""
        try:
            for name, item in value.items():
                fields[name] = check(item)
        except ValueError as error:
            label = name[:40] if name.isprintable() else show(name)
            raise ValueError(f".{label}{error}") from None
        return Record(fields)

    return check_values


def _list_of(check: Check, single: bool = False) -> Check:
    """A check for a list whose items all pass `check`; returns a tuple."""

    def check_items(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            if not single:
                raise Misfit(value, NAMES[tuple])
            return () if value in (None, "") else (check(value),)
        items: list[Any] = []
        try:
            for item in value:
                items.append(check(item))
        except Misfit as error:
            raise Misfit(error.value, error.allowed, f"[{len(items)}]{error.place}") from None
        except ValueError as error:
            raise ValueError(f"[{len(items)}]{error}") from None
        return tuple(items)

    return check_items


def _fixed(checks: list[Check]) -> Check:
    """A check for a list with one item for each check; returns a tuple."""

    def check(value: Any) -> Any:
        if not isinstance(value, list | tuple) or len(value) != len(checks):
            raise Misfit(value, f"a list of {len(checks)}")
        own = iter(checks)
        return _list_of(lambda item: next(own)(item))(value)

    return check


def _object_of(cls: type, form: Form) -> Check:
    """A check for an object of the fields of a dataclass; returns an instance."""
    stored = [field for field in dataclasses.fields(cls) if field.init and field.compare]
    missing = dataclasses.MISSING
    needed = [field.name for field in stored if field.default is field.default_factory is missing]

    @cache
    def own_checks() -> dict[str, Check]:  # at the first value: a record may hold records of its class
        hints = typing.get_type_hints(cls, include_extras=True)
        return {field.name: range_check(check_in(hints[field.name], form), field) for field in stored}

    def check(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Misfit(value, NAMES[dict])
        checks = own_checks()
        if form.extra:
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


def range_check(check: Check, field: dataclasses.Field[Any], always: bool = False) -> Check:
    """The check with the range of a field's `setting`; `always` also without a range, for finite numbers."""
    limits = range_text(field)
    if not limits and not always:
        return check

    def check_range(value: Any) -> Any:
        try:
            value = check(value)
        except Misfit as error:
            allowed = "" if field.metadata.get("choices") else error.allowed
            raise Misfit(error.value, ", ".join(filter(None, (allowed, limits))), error.place) from None
        if problem := range_problem(field, value):
            raise ValueError(f" {problem}")
        return value

    return check_range


LEAVES: dict[Any, Check] = {
    **{kind: leaf(kind) for kind in (str, int, bool, types.NoneType)},
    float: number,
    Record: _record_of(json_value),
    Any: lambda value: value,
}
JSON, LOOSE_JSON = Form(LEAVES), Form(LEAVES, extra=True)
