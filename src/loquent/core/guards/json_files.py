"""The only reader of JSON in the package: bounded in size and depth, with typed errors.

Every error names the file and the line. Python's own reader has no bound on depth, accepts NaN, and does not
name the file. No other module calls it.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from reprlib import Repr
from typing import Any, Literal, TypeGuard

from loquent.errors import BadCheckpoint, LoquentError

LEVELS = 100  # of nested lists and objects
MOST_BYTES = 1 << 28  # of a file or a line of JSON: 256 MiB
FREE_BRACKETS, DENSITY = 1_000_000, 16  # lists and objects: any million, and one for 16 bytes
NaN = Literal["refused", "null", "kept"]


class _Short(Repr):
    """Short texts of values; lists and objects are shown as in JSON."""

    repr_Record = Repr.repr_dict

    def repr_tuple(self, x: tuple[Any, ...], level: int) -> str:
        return self.repr_list([*x], level)


SHORT = _Short()
SHORT.maxstring = SHORT.maxother = SHORT.maxlong = 40


class BadJson(ValueError):
    """A text is not JSON, or exceeds a bound of this module.

    `line` counts from 1 within the text; 0 means that the error has no line.
    """

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


def loads(text: Any, *, nan: NaN = "refused", unique: bool = False) -> Any:
    """The value of a JSON text, given as a str or as UTF-8 bytes; a byte order mark is skipped.

    Args:
        nan: how to read NaN and the infinities, which JSON does not have: "refused" raises, "null" gives
            None, and "kept" gives the float, for callers that check each value.
        unique: whether a repeated name in an object is an error; otherwise the last value counts.

    Raises:
        BadJson: the text is not JSON, is longer than `MOST_BYTES`, or is nested deeper than `LEVELS`.
    """
    if not isinstance(text, str | bytes):
        raise BadJson(f"JSON must be a text, got {show(text)}")
    if len(text) > MOST_BYTES:
        raise BadJson(f"it has {len(text):,} bytes; at most {MOST_BYTES:,} are read")
    if isinstance(text, bytes):
        brackets = text.count(b"[") + text.count(b"{")
    else:
        brackets = text.count("[") + text.count("{")
    if brackets > FREE_BRACKETS + len(text) // DENSITY:
        raise BadJson(f"it has {brackets:,} lists and objects, which is too many for its {len(text):,} bytes")
    try:
        decoded = (text.decode("utf-8") if isinstance(text, bytes) else text).removeprefix("\ufeff")
        value = _DECODERS[nan, unique].decode(decoded)
    except UnicodeDecodeError as error:
        raise BadJson(
            f"it is not UTF-8: can't decode byte {error.object[error.start]:#04x} in position {error.start}",
            _line(text, error.start),
        ) from None
    except json.JSONDecodeError as error:
        raise BadJson(f"it is not JSON ({error.msg} at column {error.colno})", error.lineno) from None
    except RecursionError:
        raise _too_deep() from None
    except BadJson:
        raise
    except ValueError:  # Python's bound on the digits of an integer
        raise BadJson("it is JSON that cannot be read: an integer has thousands of digits") from None
    if brackets > LEVELS and _is_deep(value):
        raise _too_deep()
    return value


def values(texts: Iterable[str]) -> Iterator[Any]:
    """The values of many texts as `loads(text, unique=True)` gives them, in a third of its time.

    Raises:
        BadJson: as `loads`, when the value of this text is asked for.
    """
    decoder: Any = _DECODERS["refused", True]
    scan, levels = decoder.scan_once, LEVELS
    for text in texts:
        try:
            value, end = scan(text, 0)
        except (StopIteration, ValueError, RecursionError):
            end = -1
        is_flat = "[" not in text and text.find("{", 1) < 0
        is_right = end == len(text) < MOST_BYTES and (is_flat or text.count("{") + text.count("[") <= levels)
        yield value if is_right else loads(text, unique=True)


def load(
    path: Path, advice: str = "", *, error: type[LoquentError] = BadCheckpoint, nan: NaN = "refused"
) -> Any:
    """The JSON value of a file.

    Args:
        advice: what the user should do when the file cannot be read; the end of the error message.
        error: the type of the error.
        nan: as for `loads`.
    """
    try:
        return loads(_bytes(path), nan=nan)
    except BadJson as bad:
        raise error(_message(f"{path}:{bad.line}" if bad.line else str(path), str(bad), advice)) from bad
    except OSError as bad:
        raise error(_message(str(path), f"it cannot be read ({bad.strerror or bad})", advice)) from bad


def load_object(
    path: Path, advice: str = "", *, error: type[LoquentError] = BadCheckpoint, nan: NaN = "refused"
) -> dict[str, Any]:
    """The JSON object of a file, by the rules of `load`; any other JSON value is an error too."""
    value = load(path, advice, error=error, nan=nan)
    if not isinstance(value, dict):
        raise error(_message(str(path), f"it must hold a JSON object {{...}}, got {show(value)}", advice))
    return value


def lines(path: Path, *, torn_end: bool = False, nan: NaN = "refused") -> Iterator[tuple[int, Any]]:
    """The values of a file of JSON lines, each with its line number from 1.

    Args:
        torn_end: whether to skip an unreadable last line without a newline, as a killed process leaves it.
        nan: as for `loads`.

    Raises:
        BadJson: a line is not JSON; the error has its number.
    """
    _check_regular(path)
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MOST_BYTES + 1), b""), 1):
            try:
                value = loads(line, nan=nan)
            except BadJson as error:
                if torn_end and not line.endswith(b"\n"):
                    return
                raise BadJson(str(error), number) from None
            yield number, value


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a JSON value is a number that a float can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def show(value: Any) -> str:
    """A value as error messages show it: short, with JSON's names for None, True and False."""
    names = {None: "null", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return names[value]
    return SHORT.repr(value)


def finite(value: Any) -> Any:
    """The same JSON value with null for every number that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def _bytes(path: Path) -> bytes:
    _check_regular(path)
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _check_regular(path: Path) -> None:
    """BadJson for a folder, a device or a pipe, which may have no end."""
    if path.exists() and not path.is_file():
        raise BadJson("it is not a regular file")


def _message(place: str, why: str, advice: str) -> str:
    return f"{place}: {why}" + (f"; {advice}" if advice else "")


def _is_deep(value: Any) -> bool:
    """Whether a value has more than `LEVELS` nested lists and objects."""
    level = [value]
    for _ in range(LEVELS):
        level = [
            item
            for node in level
            if isinstance(node, dict | list)
            for item in (node.values() if isinstance(node, dict) else node)
        ]
    return any(isinstance(node, dict | list) for node in level)


def _too_deep() -> BadJson:
    return BadJson(f"lists or objects are nested too deep; at most {LEVELS} levels are allowed")


def _line(text: Any, position: int) -> int:
    return int(text.count(b"\n", 0, position)) + 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise BadJson(f"the name {repeated!r:.80} stands twice in one object")
    return fields


def _refused(name: str) -> None:
    raise BadJson(f"{name} is not a JSON number")


_CONSTANTS: dict[NaN, Callable[[str], Any]] = {"refused": _refused, "null": lambda _: None, "kept": float}
_DECODERS = {  # making a decoder takes as long as reading a short line
    (nan, unique): json.JSONDecoder(parse_constant=constant, object_pairs_hook=_object if unique else None)
    for nan, constant in _CONSTANTS.items()
    for unique in (False, True)
}
