"""From YAML to dataclasses, keeping for every key the file and line it stands on."""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loquent.core.guards.safe_yaml import Node, dump, parse, read
from loquent.core.settings import range_problem, range_text
from loquent.core.values import frozen
from loquent.errors import BadSetting, NotImported, nearest

COMMAND_LINE = "command line"
__all__ = [
    "COMMAND_LINE",
    "Node",
    "dump",
    "fill",
    "from_values",
    "options_of",
    "parse",
    "read",
    "takes",
    "unknown",
]


def fill(cls: type, node: Node | None, section: str) -> Any:
    """An instance of a frozen dataclass from a mapping.

    Every problem names file, line, nearest key and range.
    """
    given = node.mapping(section) if node else {}
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, item in given.items():
        if key not in fields:
            raise unknown(item, key, tuple(fields), section)
        values[key] = _coerced(item, hints[key], fields[key], f"{section}.{key}")
    missing = [
        f.name
        for f in fields.values()
        if f.name not in values and f.default is f.default_factory is dataclasses.MISSING
    ]
    if missing:
        why = fields[missing[0]].metadata.get("why")
        raise BadSetting(
            f"{node.place if node else section}: {section} needs {', '.join(missing)}"
            + (f": {why}" if why else "")
        )
    try:
        return cls(**values)
    except NotImported:
        raise
    except BadSetting as error:
        raise BadSetting(
            f"{_blamed(error, cls, values, given, node)}: {error}" if node else str(error)
        ) from error


def from_values(cls: type, given: Mapping[str, Any], section: str, place: str = "option") -> Any:
    """An instance of a frozen dataclass from plain Python values, by the same rules as `fill`.

    Args:
        place: where the values come from, for errors.

    Raises:
        BadSetting: an unknown name (with the nearest known one), a missing or wrongly typed value, or one
            outside its range.
    """
    nodes = {name: Node(frozen(value), place, None) for name, value in given.items()}
    return fill(cls, Node(nodes, place, None), section)


def takes(options: type, name: str = "") -> Callable[[Callable[[Any, Any], Any]], Callable[..., Any]]:
    """Turn `f(context, options)` into a factory `make(context, **options)` that refuses what `options` does
    not allow.

    The dataclass stands on the factory as `make.Options`, as a task's and an algorithm's do on theirs.

    Args:
        name: what errors call the factory; by default the function's own name.
    """

    def decorate(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def make(context: Any, **given: Any) -> Any:
            owner = name or function.__name__
            return function(context, from_values(options, given, owner, owner))

        make.Options = options  # type: ignore[attr-defined]  # a function carries its schema
        return make

    return decorate


def options_of(factory: Any) -> type | None:
    """The dataclass of options that an agent, a metric or a reward is made with; None where it takes none."""
    options: type | None = getattr(factory, "Options", None)
    return options


def _blamed(error: BadSetting, cls: type, values: dict[str, Any], given: dict[str, Node], node: Node) -> str:
    """Where the values come from that a dataclass refuses: overrides (they have no line) that it names, or
    without which it is content.
    """
    later = {key: item.place for key, item in given.items() if item.line is None}
    named = [place for key, place in later.items() if re.search(rf"\b{re.escape(key)}\b", str(error))]
    if named or not later:
        return named[-1] if named else node.place
    try:
        cls(**{key: value for key, value in values.items() if key not in later})
    except (BadSetting, TypeError):
        return node.place
    return list(later.values())[-1]


def unknown(node: Node, key: str, known: Sequence[str], section: str) -> BadSetting:
    """The error for a key nobody knows: where it stands, and the nearest one."""
    near = nearest(key, known)
    hint = f" Nearest: {near}." if near else ""
    return BadSetting(f"{node.place}: {key!r} is no setting of {section}.{hint} Known: {', '.join(known)}")


def _coerced(node: Node, hint: Any, field: dataclasses.Field[Any], name: str) -> Any:
    options = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    for option in options:
        fits, value = _fits(node.plain(), option)
        if fits:
            problem = range_problem(field, value)
            if problem:
                raise BadSetting(f"{node.place}: {name} = {value!r} {problem}")
            return value
    wanted = " or ".join(_type_name(option) for option in options)
    limits = (
        f"{', ' if field.metadata.get('choices') else ' in '}{range_text(field)}" if range_text(field) else ""
    )
    default = "" if field.default is dataclasses.MISSING else f"; the default is {field.default!r}"
    raise BadSetting(f"{node.place}: {name} = {node.bare()!r:.200} is no {wanted}{limits}{default}")


def _fits(value: Any, hint: Any) -> tuple[bool, Any]:
    origin = typing.get_origin(hint)
    if hint is Any:
        return True, value
    if hint is type(None) or hint is None:
        return value is None or value == "none", None
    if origin is typing.Literal:
        return value in typing.get_args(hint), value
    if origin is tuple:
        value = (
            value if isinstance(value, tuple) else () if value in (None, "") else (value,)
        )  # one alone is a list of one
        inner = typing.get_args(hint)[0]
        pairs = [_fits(item, inner) for item in value]
        return all(fits for fits, _ in pairs), tuple(item for _, item in pairs)
    if hint is float:
        number = float(value) if value in ("inf", "-inf") else value
        return isinstance(number, int | float) and not isinstance(number, bool), float(number) if isinstance(
            number, int | float
        ) else number
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if hint is str:
        return isinstance(value, str) or value is None, value or ""
    return isinstance(value, hint), value


def _type_name(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)).replace("NoneType", "none")
