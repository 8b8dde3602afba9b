"""From YAML or plain Python values to dataclasses, with the file and line of every key for error messages."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from loquent.core import registry, schema
from loquent.core.safe_yaml import Node, dump, parse, read
from loquent.core.settings import default_text
from loquent.core.values import Record, freeze
from loquent.errors import BadSetting, NotImported, list_names, nearest

COMMAND_LINE = "command line"
PROFILE = "profile"  # the origin of settings that come from a profile
SUITE = "suite"  # the origin of settings that come from a suite
__all__ = [
    "COMMAND_LINE",
    "PROFILE",
    "SUITE",
    "Node",
    "coerce",
    "dump",
    "fill",
    "from_values",
    "identifying",
    "options_of",
    "parse",
    "read",
    "takes",
    "transport_options",
    "tree",
    "unknown",
    "without_transport",
]


def fill(cls: type, node: Node | None, section: str) -> Any:
    """An instance of the frozen dataclass `cls` from a YAML mapping.

    A field of the type `Mapping[str, Node]` keeps its nodes. Dataclasses may stand in lists and mappings.

    Args:
        section: the name of the mapping in error messages.

    Raises:
        BadSetting: a key is unknown or missing, or a value has the wrong type or is outside its range; names
            the file, the line and the nearest key or the range.
    """
    items = node.mapping(section) if node else {}
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls, include_extras=True)
    values: dict[str, Any] = {}
    for key, item in items.items():
        if key not in fields:
            raise unknown(item, key, tuple(fields), section)
        values[key] = coerce(item, hints[key], fields[key], f"{section}.{key}")
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
        why = re.sub(rf"^{cls.__name__}\.", f"{section}.", str(error))  # as the user writes it
        place = f"{_place_of(error, cls, values, items, node)}: " if node else ""
        raise BadSetting(place + why) from error


def from_values(cls: type, values: Mapping[str, Any], section: str, place: str = "option") -> Any:
    """An instance of a frozen dataclass from plain Python values, by the same rules as `fill`.

    Args:
        place: where the values come from, for error messages.

    Raises:
        BadSetting: as from `fill`.
    """
    nodes = {name: Node(freeze(_plain_path(value)), place, None) for name, value in values.items()}
    return fill(cls, Node(nodes, place, None), section)


def _plain_path(value: Any) -> Any:
    """A path as its text; other values unchanged."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def tree(value: Any, file: str, line: int | None, origin: str = "") -> Node:
    """The nodes of a plain value: mappings and lists have nodes inside, all with the same place."""
    inside: Any = value
    if isinstance(value, Mapping):
        inside = {str(name): tree(item, file, line, origin) for name, item in value.items()}
    elif isinstance(value, list | tuple):
        inside = [tree(item, file, line, origin) for item in value]
    return Node(inside, file, line, origin)


def takes(options: type, name: str = "") -> Callable[[Callable[[Any, Any], Any]], Callable[..., Any]]:
    """Turn `f(context, options)` into a factory `make(context, **options)` that checks its options.

    The factory carries the dataclass of its options as `make.Options`, like the classes of tasks and agents.

    Args:
        options: the dataclass of the options.
        name: the factory's name in error messages; by default the name of the function.
    """

    def decorate(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def make(context: Any, **values: Any) -> Any:
            owner = name or function.__name__
            return function(context, from_values(options, values, owner, owner))

        make.Options = options  # type: ignore[attr-defined]  # a function carries its schema
        return make

    return decorate


def options_of(factory: Any) -> type | None:
    """The dataclass of options of an agent, metric or reward; None when it has no options."""
    options: type | None = getattr(factory, "Options", None)
    return options


def identifying(options: Any) -> dict[str, Any]:
    """The fields of a dataclass of options, without the `transport` settings of the agents among them."""
    return {name: without_transport(value) for name, value in dataclasses.asdict(options).items()}


def without_transport(chosen: Any) -> Any:
    """An agent's mapping of `kind` and options without the `transport` settings, which change no answer.

    The settings of nested agents are treated alike; any other value is returned unchanged. Only registered
    names are looked up, so that no code of a file is imported.
    """
    if not isinstance(chosen, Mapping) or not isinstance(chosen.get("kind"), str):
        return chosen
    known = chosen["kind"] in registry.names("agent")
    omitted = transport_options(registry.find("agent", chosen["kind"])) if known else frozenset()
    return Record({name: without_transport(value) for name, value in chosen.items() if name not in omitted})


def transport_options(factory: Any) -> frozenset[str]:
    """The options of an agent's factory that are declared with `setting(transport=True)`."""
    schema = options_of(factory)
    fields = () if schema is None else dataclasses.fields(schema)
    return frozenset(field.name for field in fields if field.metadata.get("transport"))


def unknown(node: Node, key: str, known: Sequence[str], section: str) -> BadSetting:
    """The error for an unknown key: its place, the nearest known key and all known keys."""
    near = nearest(key, known)
    hint = f" Nearest: {near}." if near else ""
    return BadSetting(
        f"{node.place}: {section} has no setting {key!r}.{hint} Known: {list_names(known, key)}"
    )


def _place_of(
    error: BadSetting, cls: type, values: dict[str, Any], items: dict[str, Node], node: Node
) -> str:
    """The place to name for values that a dataclass refuses.

    An override (it has no line) is named when the error mentions its key, or when the dataclass accepts the
    other values without the overrides. Otherwise the place is that of the whole mapping.
    """
    overrides = {key: _override(item) for key, item in items.items() if item.is_override}
    mentioned = [place for key, place in overrides.items() if re.search(rf"\b{re.escape(key)}\b", str(error))]
    if COMMAND_LINE in mentioned:  # a profile that sets another mentioned key is as the user chose it
        return COMMAND_LINE
    if mentioned or not overrides:
        return mentioned[-1] if mentioned else node.place
    try:
        cls(**{key: value for key, value in values.items() if key not in overrides})
    except (BadSetting, TypeError):
        return node.place
    return list(overrides.values())[-1]


def _override(item: Node) -> str:
    """The place of an override; the command line if a setting inside it was typed there."""
    inner = item.value.values() if type(item.value) is dict else ()
    return COMMAND_LINE if any(_override(part) == COMMAND_LINE for part in inner) else item.place


def coerce(node: Node, hint: Any, field: dataclasses.Field[Any], name: str) -> Any:
    """The node's value as the type `hint` of a field.

    Args:
        name: the field's name in error messages.

    Raises:
        BadSetting: the value has another type or is outside the field's range.
    """
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return fill(hint, node, name)
    if hint == Mapping[str, Node]:
        return node.mapping(name)
    inner: Any = next(filter(dataclasses.is_dataclass, typing.get_args(hint)), None)
    if inner and typing.get_origin(hint) is tuple:
        if not isinstance(node.value or [], list):
            raise BadSetting(f"{node.place}: {name} must be a list, got {node.bare()!r:.200}")
        return tuple(fill(inner, item, f"{name}[{i}]") for i, item in enumerate(node.value or []))
    if inner and typing.get_origin(hint) is Mapping:
        return {key: fill(inner, item, f"{name}.{key}") for key, item in node.mapping(name).items()}
    try:
        return schema.range_check(schema.check_in(hint, YAML), field, always=True)(node.plain())
    except ValueError as error:
        whole = isinstance(error, schema.Misfit) and not error.place
        shows = whole and field.default is not dataclasses.MISSING
        default = f"; the default is {default_text(field)}" if shows else ""
        raise BadSetting(f"{node.place}: {name}{error}{default}") from None


def _number(value: Any) -> float:
    """A number, which may be infinite, also as a word."""
    if isinstance(value, int | float) != isinstance(value, bool) or value in ("inf", "-inf"):
        with contextlib.suppress(OverflowError):  # an integer of hundreds of digits
            return float(value)
    raise schema.Misfit(value, "a number")


def _text(value: Any) -> Any:
    """A text; nothing is the empty one."""
    return schema.LEAVES[str]("" if value is None else value)


def _none(value: Any) -> None:
    if value not in (None, "none"):
        raise schema.Misfit(value, "none")


# values as YAML and Python write them
YAML = schema.Form(
    schema.LEAVES | {float: _number, str: _text, types.NoneType: _none, Record: schema.leaf(Record)},
    single=True,
)
