"""The space of a search: the settings that trials try, each a list of choices or a range."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loquent.core.options import COMMAND_LINE, parse, tree
from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.training.recipes import Recipe
from loquent.training.recipes.overrides import Override

MOST_CORNERS = 64
WHOLE = re.compile(r"[+-]?[0-9]+")
FORMS = "write choices KEY=a,b,c, a range KEY=LOW:HIGH, or a range on a logarithmic scale KEY=log:LOW:HIGH"
Point = Mapping[str, Any]  # a value for each setting of a space, by its path


@dataclass(frozen=True)
class Choices:
    """A setting that has one of these values."""

    path: str
    values: tuple[Any, ...]

    def draw(self, key: Key) -> Any:
        """One of the values, each as likely."""
        return self.values[int(key.generator().integers(len(self.values)))]

    @property
    def corners(self) -> tuple[Any, ...]:
        """The values that are checked before a search: all."""
        return self.values

    @property
    def size(self) -> int | None:
        """The number of values."""
        return len(self.values)


@dataclass(frozen=True)
class Range:
    """A number between two ends, which belong to it; `whole`: an integer."""

    path: str
    low: float
    high: float
    log: bool = False
    whole: bool = False

    def draw(self, key: Key) -> Any:
        """A number, uniform on the scale of the range.

        An integer n on a logarithmic scale is as likely as the part of the scale between n and n + 1.
        """
        if self.whole and not self.log:
            return int(key.generator().integers(int(self.low), int(self.high) + 1))
        share, high = float(key.generator().random()), self.high + self.whole
        if not self.log:
            return self.low + share * (high - self.low)
        value = math.exp(math.log(self.low) + share * (math.log(high) - math.log(self.low)))
        return min(max(int(value) if self.whole else value, self.low), self.high)

    @property
    def corners(self) -> tuple[Any, ...]:
        """The values that are checked before a search: the ends."""
        return (self.low, self.high)

    @property
    def size(self) -> int | None:
        """The number of values; None for a range of real numbers."""
        return int(self.high) - int(self.low) + 1 if self.whole else None


Dimension = Choices | Range


def split(texts: Sequence[str]) -> tuple[list[Dimension], list[str]]:
    """The settings to search, and the settings that all trials have in common.

    Raises:
        BadSetting: a choice is empty or repeated, or a range has no two ends in order.
    """
    space: list[Dimension] = []
    common: list[str] = []
    for text in texts:
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise BadSetting(f"{text!r} is not of the form KEY=VALUES; {FORMS}")
        dimension = _dimension(path.strip(), value)
        if dimension is None:
            common.append(text)
        elif any(other.path == dimension.path for other in space):
            raise BadSetting(f"{dimension.path} is searched twice; {FORMS}")
        else:
            space.append(dimension)
    if not space:
        raise BadSetting(f"no setting has several values, so there is nothing to search; {FORMS}")
    return space, common


def _dimension(path: str, value: str) -> Dimension | None:
    """The choices or the range that a value stands for; None for a single value."""
    parts = _parts(value)
    if len(parts) > 1:
        return _choices(path, parts)
    head, *ends = value.strip().split(":")
    if head == "log":
        if len(ends) != 2:
            raise BadSetting(f"{path}={value}: a range on a logarithmic scale is log:LOW:HIGH")
        return _range(path, value, ends, log=True)
    both = [head, *ends]
    return _range(path, value, both) if len(both) == 2 and all(map(_is_number, both)) else None


def _parts(value: str) -> list[str]:
    """The parts between the commas that stand in no quotes and in no brackets."""
    parts, depth, quote = [""], 0, ""
    for letter in value:
        if letter == "," and not depth and not quote:
            parts.append("")
            continue
        parts[-1] += letter
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'" and not parts[-1].strip(" \"'"):
            quote = letter
        else:
            depth += (letter in "[{") - (letter in "]}")
    return parts


def _choices(path: str, parts: Sequence[str]) -> Choices:
    values = []
    for number, part in enumerate(parts, 1):
        if not part.strip():
            raise BadSetting(f"{path}: choice {number} of {','.join(parts)!r} is empty; {FORMS}")
        value = parse(part, COMMAND_LINE, numbered=False).plain()
        if value in values:
            raise BadSetting(f"{path}: {part.strip()} is twice among the choices; name each value once")
        values.append(value)
    return Choices(path, tuple(values))


def _range(path: str, value: str, ends: Sequence[str], log: bool = False) -> Range:
    what = f"{path}={value}"
    if not all(map(_is_number, ends)):
        raise BadSetting(f"{what}: the ends of a range must be finite numbers, got {' and '.join(ends)}")
    whole = all(WHOLE.fullmatch(end.strip()) for end in ends)
    low, high = (int(end) if whole else float(end) for end in ends)
    if log and low <= 0:
        raise BadSetting(f"{what}: LOW must be above 0 on a logarithmic scale, got {ends[0]}")
    if low >= high:
        raise BadSetting(f"{what}: LOW must be below HIGH, got {ends[0]} and {ends[1]}")
    return Range(path, low, high, log, whole)


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def overrides(point: Point, file: Path | None = None) -> list[Override]:
    """The settings of a point as overrides of a recipe.

    Args:
        file: the file that has the space; None if it was typed.
    """
    name, line = (COMMAND_LINE, None) if file is None else (file.name, 1)
    return [
        Override(tuple(path.split(".")), tree(value, name, line, COMMAND_LINE), file)
        for path, value in point.items()
    ]


def settle(space: Sequence[Dimension], recipe: Recipe) -> tuple[Dimension, ...]:
    """The space in which a range with whole ends has integers only if its setting takes no fractions.

    Raises:
        BadSetting: the recipe refuses a value.
    """
    first = {dimension.path: dimension.corners[0] for dimension in space}
    return tuple(
        as_real(dimension)
        if isinstance(dimension, Range) and dimension.whole and _takes_fractions(dimension, first, recipe)
        else dimension
        for dimension in space
    )


def _takes_fractions(dimension: Range, first: Point, recipe: Recipe) -> bool:
    recipe.replace(*overrides(first))  # another reason for a refusal is raised here
    try:
        recipe.replace(*overrides({**first, dimension.path: dimension.low + 0.5}))
    except BadSetting:
        return False
    return True


def corners(space: Sequence[Dimension]) -> Iterator[Point]:
    """The points that are checked before a search: every combination of choices and ends of ranges.

    If there are more than 64, each choice and each end appears beside the first ones of the other settings.
    """
    paths, columns = [dimension.path for dimension in space], [dimension.corners for dimension in space]
    if math.prod(map(len, columns)) <= MOST_CORNERS:
        for values in itertools.product(*columns):
            yield dict(zip(paths, values, strict=True))
        return
    first = {path: column[0] for path, column in zip(paths, columns, strict=True)}
    yield first
    for path, column in zip(paths, columns, strict=True):
        for value in column[1:]:
            yield {**first, path: value}


def restore(texts: Sequence[str], whole: Sequence[str]) -> tuple[Dimension, ...]:
    """The space of these texts, in which the ranges of the paths in `whole` have integers only."""
    return tuple(
        as_real(dimension) if isinstance(dimension, Range) and dimension.path not in whole else dimension
        for dimension in split(texts)[0]
    )


def as_real(dimension: Range) -> Range:
    """The range with all real numbers between its ends."""
    return replace(dimension, whole=False, low=float(dimension.low), high=float(dimension.high))


def size(space: Sequence[Dimension]) -> int | None:
    """The number of points; None if a setting has a range of real numbers."""
    sizes = [dimension.size for dimension in space]
    return None if None in sizes else math.prod(number for number in sizes if number is not None)
