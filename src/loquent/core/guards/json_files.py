"""The only reader of JSON: bounded in size and depth, and every failure is a typed error that names the file
and the line.

Python's own reader recurses without a bound of its own, takes NaN, and says nothing of the file. Nothing else
in the package calls it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from reprlib import Repr
from typing import Any, Literal

from loquent.errors import BadCheckpoint, LoquentError

LEVELS = 100  # of lists and objects in one another
MOST_BYTES = 1 << 28  # of a file or a line of JSON: 256 MiB
NaN = Literal["refused", "null", "kept"]
SHORT = Repr()
SHORT.maxstring = SHORT.maxother = SHORT.maxlong = 40


class BadJson(ValueError):
    """A text is no JSON, or not what is allowed.

    `line` counts from 1 within the text, 0 where no line is to blame.
    """

    def __init__(self, why: str, line: int = 0) -> None:
        super().__init__(why)
        self.line = line


def loads(text: Any, *, nan: NaN = "refused", unique: bool = False) -> Any:
    """What a text of JSON stands for, given as a str or as bytes of UTF-8.

    Args:
        nan: what becomes of NaN and the infinities, which are no JSON: an error, null, or (for who checks
            each value) the float itself.
        unique: a name that stands twice in one object is an error; otherwise the last one counts.

    Raises:
        BadJson: it is no JSON, it is longer than `MOST_BYTES`, or its lists and objects are nested deeper
            than `LEVELS`.
    """
    if not isinstance(text, str | bytes):
        raise BadJson(f"{shown(text)} is no text of JSON")
    if len(text) > MOST_BYTES:
        raise BadJson(f"it has {len(text):,} bytes; at most {MOST_BYTES:,} are read")
    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(
            decoded, parse_constant=_CONSTANTS[nan], object_pairs_hook=_object if unique else None
        )
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
        raise BadJson("it is not JSON that can be read (an integer has thousands of digits)") from None
    if decoded.count("[") + decoded.count("{") > LEVELS and _is_deep(value):
        raise _too_deep()
    return value


def load(
    path: Path, advice: str = "", *, error: type[LoquentError] = BadCheckpoint, nan: NaN = "refused"
) -> Any:
    """The JSON of a file.

    Args:
        advice: what to do where the file cannot be read; stands at the end of the message.
        error: the kind of error that is raised.
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
    """The JSON object of a file; as `load`, and another thing than an object is an error too."""
    value = load(path, advice, error=error, nan=nan)
    if not isinstance(value, dict):
        raise error(_message(str(path), f"it holds {shown(value)}; a JSON object {{...}} is right", advice))
    return value


def lines(path: Path, *, torn_end: bool = False, nan: NaN = "refused") -> Iterator[tuple[int, Any]]:
    """The values of a file of JSON lines, each with the number of its line.

    Args:
        torn_end: a last line without its newline, which a kill cut off, is left out where it cannot be read.

    Raises:
        BadJson: a line is no JSON; with its number.
    """
    with path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(MOST_BYTES + 1), b""), 1):
            try:
                value = loads(line, nan=nan)
            except BadJson as error:
                if torn_end and not line.endswith(b"\n"):
                    return
                raise BadJson(str(error), number) from None
            yield number, value


def shown(value: Any) -> str:
    """A value as an error shows it: short, and in the words of JSON."""
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
    if path.is_dir() or (path.exists() and not path.is_file()):
        raise BadJson("it is no file")
    with path.open("rb") as file:
        return file.read(MOST_BYTES + 1)


def _message(place: str, why: str, advice: str) -> str:
    return f"{place}: {why}" + (f"; {advice}" if advice else "")


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(LEVELS):
        level = [
            item
            for one in level
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
    return any(isinstance(one, dict | list) for one in level)


def _too_deep() -> BadJson:
    return BadJson(f"lists or objects are nested too deep; {LEVELS} levels are right")


def _line(text: Any, place: int) -> int:
    return int(text.count(b"\n", 0, place)) + 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise BadJson(
            f"the name {next(name for name in names if names.count(name) > 1)!r:.80} stands twice in "
            "one object"
        )
    return fields


def _refused(name: str) -> None:
    raise BadJson(f"{name} is no JSON number")


_CONSTANTS: dict[NaN, Callable[[str], Any]] = {"refused": _refused, "null": lambda _: None, "kept": float}
