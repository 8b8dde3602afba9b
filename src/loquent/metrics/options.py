"""Options of a registered metric or reward: a frozen dataclass of `setting` fields, filled from keyword arguments."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from loquent.errors import BadSetting, nearest
from loquent.metric import Context
from loquent.settings import check_ranges


def takes(options: type, name: str = "") -> Callable[[Callable[[Context, Any], Any]], Callable[..., Any]]:
    """Turn `f(context, options)` into a factory `make(context, **options)` that refuses what `options` does not allow.

    `name` is what errors call it, where that is not the function's own. The dataclass stands on the factory as `make.Options`,
    as a task's and an algorithm's do on theirs.
    """

    def decorate(f: Callable[[Context, Any], Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def make(context: Context, **given: Any) -> Any:
            return f(context, read(options, given, name or f.__name__))

        make.Options = options  # type: ignore[attr-defined]
        return make

    return decorate


def read(options: type, given: Mapping[str, Any], owner: str) -> Any:
    """An instance of the dataclass `options` from plain values.

    Raises:
        BadSetting: an unknown name (with the nearest known one), a missing or wrongly typed value, or one outside its range.
    """
    fields = {field.name: field for field in dataclasses.fields(options)}
    hints = typing.get_type_hints(options)
    for name, value in given.items():
        if name not in fields:
            near = nearest(name, fields)
            hint = f" Nearest: {near}." if near else ""
            raise BadSetting(f"{name!r} is no option of {owner}.{hint} Known: {', '.join(fields) or 'none'}")
        if not _fits(value, hints[name]):
            default = "" if fields[name].default is dataclasses.MISSING else f"; the default is {fields[name].default!r}"
            raise BadSetting(f"{owner}.{name} = {value!r} is no {_words(hints[name])}{default}")
    missing = [f.name for f in fields.values() if f.name not in given and f.default is dataclasses.MISSING]
    if missing:
        raise BadSetting(f"{owner} needs {', '.join(missing)}: {fields[missing[0]].metadata.get('why', '')}")
    try:
        made = options(**given)
        check_ranges(made)
    except BadSetting as error:
        raise BadSetting(f"{owner}: {error}") from error
    return made


def _fits(value: Any, hint: Any) -> bool:
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return any(_fits(value, one) for one in typing.get_args(hint))
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return hint is Any or isinstance(value, hint)


def _words(hint: Any) -> str:
    parts = typing.get_args(hint) or (hint,)
    return " or ".join("none" if part is type(None) else getattr(part, "__name__", str(part)) for part in parts)
