"""Values of `docs/results`: the node of "FILE LINE PATH", and small calculations with paths below it.

Pages address records by their lines, so `docs/results/lines.yaml` has a hash of each line: a line that was
removed, moved or changed is a problem of every page that reads its file.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

from loquent.bench import suite
from loquent.metrics.making import declared_range
from loquent.report.ranges import limits
from loquent.tasks.comments.task import Comments

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results"
SOURCE = re.compile(r"([\w-]+\.jsonl) (\d+|\*)(?: (.+))?")
NUMBER = re.compile(r"(?<![\w.,])[-+]?(?=\.?\d)(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e-?\d+)?(?!\w)")
OPERATORS = {
    "**": operator.pow,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
Ranges = dict[str, tuple[float, float]]


class Problem(ValueError):
    """What is wrong with a page or its tables, and where."""


@cache
def node(source: str) -> Any:
    """The node of "FILE LINE PATH"; with line `*` the list of all lines, or of their nodes at the path.

    Raises:
        Problem: there is no such file, line or path.
    """
    match = SOURCE.fullmatch(source)
    if match is None:
        raise Problem(f"{source!r} is no source; write FILE.jsonl, a line or *, and a path in that line")
    file, line, path = match.groups()
    records = _records(file)
    if line != "*" and not 1 <= int(line) <= len(records):
        raise Problem(f"docs/results/{file} has {len(records)} lines, not a line {line}")
    if line == "*":
        return [walk(record, path or "", source) for record in records]
    return walk(records[int(line) - 1], path or "", source)


@cache
def _records(file: str) -> list[Any]:
    """All lines of a file."""
    try:
        texts = (RESULTS / file).read_text(encoding="utf-8").splitlines()
        lines = [json.loads(line) for line in texts]
    except FileNotFoundError:
        raise Problem(f"there is no file docs/results/{file}") from None
    except ValueError as error:
        raise Problem(f"docs/results/{file} has a line that is no JSON: {error}") from None
    known = _known_lines().get(file, [])
    for place, (text, print_) in enumerate(zip_longest(texts, known), 1):
        if print_ is None:
            raise Problem(
                f"docs/results/{file} has {len(texts) - len(known)} lines that docs/results/lines.yaml lacks;"
                " run `python -m tools.pages`"
            )
        if text is None or _hash(text) != print_:
            raise Problem(
                f"line {place} of docs/results/{file} is not the line that docs/results/lines.yaml has; bring"
                " it back, or see which pages read the file, remove its hashes, run `python -m tools.pages`"
            )
    return [within_ranges(line, file) for line in lines]


def _known_lines() -> dict[str, list[str]]:
    """The hashes of the lines of each file that `lines.yaml` has."""
    file = RESULTS / "lines.yaml"
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.is_file() else {}


def _hash(line: str) -> str:
    return hashlib.sha256(line.encode()).hexdigest()[:8]


def write_lines(replaced: str = "") -> None:
    """Add the lines that were appended to their files to `lines.yaml`; what it has stays as it is.

    A program that replaces records in a file names that file, whose lines are all written anew.
    """
    known = _known_lines()
    for file in sorted(RESULTS.glob("*.jsonl")):
        lines, old = file.read_text(encoding="utf-8").splitlines(), known.get(file.name, [])
        old = [] if file.name == replaced else old
        known[file.name] = old + [_hash(line) for line in lines[len(old) :]]
    text = yaml.safe_dump(known, default_flow_style=None, width=110)
    (RESULTS / "lines.yaml").write_text(text, encoding="utf-8")


def forget() -> None:
    """Read the files anew."""
    _records.cache_clear()
    node.cache_clear()


def within_ranges(record: Any, file: str) -> Any:
    """A line of a file, with the intervals of a suite's columns cut at their ranges."""
    name = record.get("suite") if isinstance(record, dict) else None
    return _cut(record, _ranges(name if isinstance(name, str) else file.removesuffix(".jsonl")))


@cache
def _ranges(name: str) -> Ranges:
    """The ranges of a suite's columns; empty if there is no such suite."""
    columns = suite.load(name).columns if name in suite.names() else {}
    return {key: _range(column) for key, column in columns.items()}


def _range(column: Any) -> tuple[float, float]:
    """The range of a column; the results on the pages are older than evaluations with ranges."""
    if column.logged:
        return limits(column.metric, ())
    own: Any = Comments().spec.ranges.get(column.metric)
    return own or declared_range(column.metric)


def _cut(value: Any, ranges: Ranges, column: str = "") -> Any:
    """A node whose intervals end at the ranges of their columns; older results have them whole."""
    if not isinstance(value, dict) or not ranges:
        return value
    below = {key: _cut(item, ranges, key) for key, item in value.items()}
    if column in ranges and isinstance(below.get("low"), float) and isinstance(below.get("high"), float):
        least, greatest = ranges[column]
        below |= {"low": max(below["low"], least), "high": min(below["high"], greatest)}
    return below


def walk(value: Any, path: str, place: str = "") -> Any:
    """The node at a path of names between points; names may contain points.

    A record in a list has its place (from 0) as its name, or one of its texts, or is described by some fields
    ("[noise=normal, evaluations=5]"), which may be paths.

    Raises:
        Problem: there is no such path, or several records have the name.
    """
    if not path:
        return value
    nearest, matches = None, _matches(value, path)
    for name in dict.fromkeys(name for name, _ in matches):
        below = {id(item): item for other, item in matches if other == name}
        found: list[Any] = []
        for item in below.values():
            try:
                found.append(walk(item, path[len(name) + 1 :], place))
            except Problem as problem:
                nearest = nearest or problem
        if len(found) > 1:
            raise Problem(
                f"{place or path}: {name!r} names {len(found)} records; name one by its fields: [field=value]"
            )
        if found:
            return found[0]
    raise nearest or Problem(
        f"{place or path}: there is no {path!r}; there are {', '.join(names(value)[:12]) or 'none'}"
    )


def _matches(value: Any, path: str) -> list[tuple[str, Any]]:
    """The items with which a path may begin, the longest name first."""
    if isinstance(value, list) and (match := re.match(r"\[[^\]]*\]", path)):
        return [(match[0], item) for item in value if _fits(item, match[0][1:-1])]
    pairs = [(name, item) for name, item in _pairs(value) if path == name or path.startswith(f"{name}.")]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


def _fits(record: Any, fields: str) -> bool:
    """Whether a record has these fields: "noise=normal, evaluations=5"."""
    pairs = [field.partition("=")[::2] for field in fields.split(", ")]
    try:
        return all(str(walk(record, name)) == value for name, value in pairs)
    except Problem:
        return False


def _pairs(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return list(value.items())
    if not isinstance(value, list):
        return []
    texts = [(text, item) for item in value if isinstance(item, dict) for text in _texts(item)]
    return [(str(index), item) for index, item in enumerate(value)] + texts


def _texts(record: dict[str, Any]) -> list[str]:
    """The texts by which a record in a list is named: its own, and the name of what its program printed."""
    printed = record.get("printed")
    own = [printed.get("name")] if isinstance(printed, dict) else []
    return [text for text in [*record.values(), *own] if isinstance(text, str) and text]


def names(value: Any) -> list[str]:
    """The names with which a path can go on."""
    return [name for name, _ in _pairs(value)]


def number(text: str) -> float:
    """The value of a printed number."""
    return float(text.replace(",", ""))


def calculate(base: Any, text: str) -> Any:
    """The value of a path below a node, or a calculation with paths and numbers.

    Calculations go from the left, with + - * / ** between spaces. `-PATH` has the other sign. `PATH #2` is
    the second number in the text at the path.

    Raises:
        Problem: a path does not exist, a term of a calculation is no number, or it has no finite real value.
    """
    first, *rest = re.split(r" (\*\*|[-+*/]) ", text.strip())
    if first.startswith("-"):
        total = -_numeric(base, first[1:])
    else:
        total = _numeric(base, first) if rest else _value(base, first)
    for sign, term in zip(rest[::2], rest[1::2], strict=True):
        try:
            total = OPERATORS[sign](as_number(total, first), _numeric(base, term))
        except ZeroDivisionError:
            raise Problem(f"{text!r} divides by 0") from None
        except OverflowError:
            raise Problem(f"{text!r} is too large") from None
        if isinstance(total, complex):
            raise Problem(f"{text!r} has a root of a negative number")
    return total


def _value(base: Any, text: str) -> Any:
    """The value at a path, or a number in the text there."""
    path, mark, place = text.partition(" #")
    value = walk(base, path)
    if not mark:
        return value
    found = NUMBER.findall(str(value))
    if not place.isdigit() or not 1 <= int(place) <= len(found):
        raise Problem(f"{text!r}: the text at {path!r} has {len(found)} numbers")
    return number(found[int(place) - 1])


def _numeric(base: Any, text: str) -> float:
    """A number, or the number at a path."""
    return float(text) if re.fullmatch(r"\d*\.?\d+", text) else as_number(_value(base, text), text)


def as_number(value: Any, text: str) -> float:
    """The number at a path.

    Raises:
        Problem: the value is no finite number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Problem(f"{text!r} is no number, but {str(value)[:60]!r}")
    if not math.isfinite(value):
        raise Problem(f"{text!r}: {value} is no figure")
    return float(value)
