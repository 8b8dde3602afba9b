"""Values: the immutable, hashable and picklable contents of states, moves and observations."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

from loquent.errors import kind_of

SCALARS = (type(None), bool, int, float, str, bytes)


class Record(dict[str, Any]):
    """An immutable mapping from names to values: `Record(a=1)` or `Record({"a": 1})`.

    Equality and hash ignore the order of the names; iteration keeps it. The class derives from dict for
    speed: an episode creates and reads several records per step, and a wrapper around a dict takes twice as
        long.
    """

    __slots__ = ("_hash",)
    _hash: int  # computed on first use

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a Record does not change; make a new one: record.with_({name}=...)")

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError("a Record does not change; make a new one: record.with_(name=...)")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has no hash
        try:
            return self._hash
        except AttributeError:
            _put_hash(self, hash(frozenset(self.items())))
            return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Record) and dict.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __repr__(self) -> str:
        return f"Record({', '.join(f'{name}={value!r}' for name, value in self.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, (dict(self),)

    def __copy__(self) -> Record:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Record:
        return self  # its contents are immutable too

    def with_(self, **named: Any) -> Record:
        """A new record with some fields added or replaced."""
        return Record(self, **named)


_put_hash = Record.__dict__["_hash"].__set__  # bypasses __setattr__, which refuses
EMPTY = Record()


def problem(value: Any, place: str = "value") -> str | None:
    """Why an object is not a value, with the place of the problem inside it; None for a value."""
    if isinstance(value, SCALARS):
        return None
    if isinstance(value, tuple):
        return _first(problem(item, f"{place}[{i}]") for i, item in enumerate(value))
    if isinstance(value, Record):
        return _first(
            problem(item, f"{place}.{name}")
            if isinstance(name, str)
            else f"{place} has the name {name!r}, not a string"
            for name, item in value.items()
        )
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        if not vars(type(value))["__dataclass_params__"].frozen:
            return f"{place} is {kind_of(value)}, a dataclass that is not frozen"
        return _first(problem(getattr(value, f.name), f"{place}.{f.name}") for f in dataclasses.fields(value))
    allowed = "None, bool, int, float, str, bytes, tuple, Record and frozen dataclasses"
    return f"{place} is {kind_of(value)}; a value consists of {allowed}"


def _first(problems: Iterator[str | None]) -> str | None:
    return next((p for p in problems if p), None)


def freeze(thing: Any) -> Any:
    """Convert JSON or YAML data to values: dicts to Records, lists to tuples."""
    if isinstance(thing, Mapping):
        return Record({str(name): freeze(item) for name, item in thing.items()})
    if isinstance(thing, list | tuple):
        return tuple(freeze(item) for item in thing)
    return thing


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The value with each text in it changed, names in Records too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Record):
        return Record({change(name): map_texts(item, change) for name, item in value.items()})
    return tuple(map_texts(item, change) for item in value) if isinstance(value, tuple) else value


def plain(value: Any) -> Any:
    """Convert a value to JSON data: bytes to {"bytes": hex}, dataclasses to dicts of their fields."""
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return value


def digest(value: Any, length: int = 8) -> str:
    """A short hexadecimal hash of a value; equal values have equal digests in every process."""
    text = json.dumps(plain(value), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:length]
