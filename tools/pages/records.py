"""Values of `docs/results`: the node of "FILE LINE PATH", and small calculations with paths below it."""

from __future__ import annotations

import json
import operator
import re
from functools import cache
from pathlib import Path
from typing import Any

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
        lines = [json.loads(line) for line in (RESULTS / file).read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        raise Problem(f"there is no file docs/results/{file}") from None
    return [within_ranges(line, file) for line in lines]


def within_ranges(record: Any, file: str) -> Any:
    """A line of a file, with the intervals of a suite's columns cut at their ranges."""
    return _cut(record, _ranges(record.get("suite", file.removesuffix(".jsonl"))))


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
    ("[noise=normal, evaluations=5]"). Of several, as of a benchmark that was run again, it is the last.

    Raises:
        Problem: there is no such path.
    """
    if not path:
        return value
    nearest = None
    for name, below in _matches(value, path):
        try:
            return walk(below, path[len(name) + 1 :], place)
        except Problem as problem:
            nearest = nearest or problem
    raise nearest or Problem(
        f"{place or path}: there is no {path!r}; there are {', '.join(names(value)[:12]) or 'none'}"
    )


def _matches(value: Any, path: str) -> list[tuple[str, Any]]:
    """The items with which a path may begin, the longest name first."""
    if isinstance(value, list) and (match := re.match(r"\[[^\]]*\]", path)):
        return [(match[0], item) for item in value[::-1] if _fits(item, match[0][1:-1])]
    pairs = _pairs(value)[::-1]
    pairs = [(name, item) for name, item in pairs if path == name or path.startswith(f"{name}.")]
    return sorted(pairs, key=lambda pair: -len(pair[0]))


def _fits(record: Any, fields: str) -> bool:
    """Whether a record has these fields: "noise=normal, evaluations=5"."""
    pairs = [field.partition("=")[::2] for field in fields.split(", ")]
    return isinstance(record, dict) and all(str(record.get(name)) == value for name, value in pairs)


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
        Problem: a path does not exist, a term of a calculation is no number, or it divides by 0.
    """
    first, *rest = re.split(r" (\*\*|[-+*/]) ", text.strip())
    if first.startswith("-"):
        total = -_numeric(base, first[1:])
    else:
        total = _numeric(base, first) if rest else _value(base, first)
    for sign, term in zip(rest[::2], rest[1::2], strict=True):
        try:
            total = OPERATORS[sign](_number(total, first), _numeric(base, term))
        except ZeroDivisionError:
            raise Problem(f"{text!r} divides by 0") from None
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
    return float(text) if re.fullmatch(r"\d*\.?\d+", text) else _number(_value(base, text), text)


def _number(value: Any, text: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Problem(f"{text!r} is no number, but {str(value)[:60]!r}")
    return float(value)
