"""From YAML to dataclasses, keeping for every key the file and line it stands on."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from loquent.errors import BadSetting, nearest
from loquent.settings import outside, span
from loquent.values import Record, plain

COMMAND_LINE = "command line"


@dataclass
class Node:
    """A piece of YAML: a scalar, a list of nodes or a dict of nodes, and where it stands."""

    value: Any
    file: str
    line: int | None

    @property
    def place(self) -> str:
        """`file:line`, or "command line"."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    def mapping(self, what: str) -> dict[str, Node]:
        """The names inside; BadSetting when this is no mapping."""
        if self.value is None:
            return {}
        if type(self.value) is not dict:  # a Record is a value, not names with nodes
            raise BadSetting(f"{self.place}: {what} holds names and values, not {self.bare()!r}")
        return self.value

    def plain(self) -> Any:
        """The bare value: Records, tuples and scalars."""
        if type(self.value) is dict:
            return Record({name: node.plain() for name, node in self.value.items()})
        if isinstance(self.value, list):
            return tuple(node.plain() for node in self.value)
        return self.value

    def bare(self) -> Any:
        """The value as YAML would read it, in dicts and lists: what an error shows."""
        return plain(self.plain())


def parse(text: str, file: str, *, numbered: bool = True) -> Node:
    """Parse YAML; BadSetting with file and line where it is none, or a key stands twice."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}:{mark.line + 1}" if mark and numbered else file
        raise BadSetting(f"{place}: this is not YAML: {getattr(error, 'problem', error)}") from error
    if node is None:
        return Node({} if numbered else None, file, 1 if numbered else None)
    return _node(node, file, numbered)


class _Dumper(yaml.SafeDumper):
    """Writes every text so that `parse` reads that text again: in quotes where it would be read as a number."""


def _written(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    tag = "tag:yaml.org,2002:str"
    return dumper.represent_scalar(tag, text, style=None if isinstance(_number(text), str) else '"')  # type: ignore[no-untyped-call, no-any-return]


_Dumper.add_representer(str, _written)


def dump(value: Any) -> str:
    """Dicts, lists and scalars as YAML, which `parse` reads back equal."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=120)
    return text


def fill(cls: type, node: Node | None, section: str) -> Any:
    """An instance of a frozen dataclass from a mapping; every problem names file, line, nearest key and range."""
    given = node.mapping(section) if node else {}
    fields = {f.name: f for f in dataclasses.fields(cls)}
    hints = typing.get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, item in given.items():
        if key not in fields:
            raise unknown(item, key, tuple(fields), section)
        values[key] = _coerced(item, hints[key], fields[key], f"{section}.{key}")
    missing = [f.name for f in fields.values() if f.name not in values and f.default is f.default_factory is dataclasses.MISSING]
    if missing:
        raise BadSetting(f"{node.place if node else section}: {section} needs {', '.join(missing)}")
    try:
        return cls(**values)
    except BadSetting as error:
        raise BadSetting(f"{_blamed(error, cls, values, given, node)}: {error}" if node else str(error)) from error


def _blamed(error: BadSetting, cls: type, values: dict[str, Any], given: dict[str, Node], node: Node) -> str:
    """Where the values come from that a dataclass refuses: overrides (they have no line) that it names, or without which it is content."""
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


def _node(node: yaml.Node, file: str, numbered: bool) -> Node:
    line = node.start_mark.line + 1 if numbered else None
    if isinstance(node, yaml.MappingNode):
        inside: dict[str, Node] = {}
        for key, item in node.value:
            at = key.start_mark.line + 1 if numbered else None
            if key.value in inside:
                raise BadSetting(f"{Node(None, file, at).place}: {key.value!r} stands twice")
            inside[str(key.value)] = Node(_node(item, file, numbered).value, file, at)
        return Node(inside, file, line)
    if isinstance(node, yaml.SequenceNode):
        return Node([_node(item, file, numbered) for item in node.value], file, line)
    loader = yaml.SafeLoader("")
    value: Any = loader.construct_object(node)  # type: ignore[no-untyped-call]
    quoted = isinstance(node, yaml.ScalarNode) and node.style is not None
    return Node(value if quoted else _number(value), file, line)  # in quotes it is text


def _number(value: Any) -> Any:
    """YAML 1.1 reads 1e-5 as a string; we read it as the number it is."""
    if isinstance(value, str) and value[:1] in "+-.0123456789" and "e" in value.lower():
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _coerced(node: Node, hint: Any, field: dataclasses.Field[Any], name: str) -> Any:
    options = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    for option in options:
        fits, value = _fits(node.plain(), option)
        if fits:
            problem = outside(field, value)
            if problem:
                raise BadSetting(f"{node.place}: {name} = {value!r} {problem}")
            return value
    wanted = " or ".join(_type_name(option) for option in options)
    limits = f"{', ' if field.metadata.get('choices') else ' in '}{span(field)}" if span(field) else ""
    default = "" if field.default is dataclasses.MISSING else f"; the default is {field.default!r}"
    raise BadSetting(f"{node.place}: {name} = {node.bare()!r} is no {wanted}{limits}{default}")


def _fits(value: Any, hint: Any) -> tuple[bool, Any]:
    origin = typing.get_origin(hint)
    if hint is Any:
        return True, value
    if hint is type(None) or hint is None:
        return value is None or value == "none", None
    if origin is typing.Literal:
        return value in typing.get_args(hint), value
    if origin is tuple:
        value = value if isinstance(value, tuple) else () if value in (None, "") else (value,)  # one alone is a list of one
        inner = typing.get_args(hint)[0]
        pairs = [_fits(item, inner) for item in value]
        return all(fits for fits, _ in pairs), tuple(item for _, item in pairs)
    if hint is float:
        number = float(value) if value in ("inf", "-inf") else value
        return isinstance(number, int | float) and not isinstance(number, bool), float(number) if isinstance(number, int | float) else number
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool), value
    if hint is str:
        return isinstance(value, str) or value is None, value or ""
    return isinstance(value, hint), value


def _type_name(hint: Any) -> str:
    return getattr(hint, "__name__", str(hint)).replace("NoneType", "none")
