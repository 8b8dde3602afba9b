"""Settings: the fields of frozen dataclasses that a recipe fills.

Each setting states its meaning, its source and its range.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from loquent.errors import BadSetting, nearest


class Remark(UserWarning):
    """A warning about what happens without being asked for, such as a setting that has no effect.

    The program goes on, but the user should know.
    """


@contextmanager
def printing_remarks() -> Iterator[None]:
    """Inside, each remark is printed as one line on stderr, and other warnings as they are."""
    with warnings.catch_warnings():
        default = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
            if issubclass(category, Remark):
                print(f"Remark: {indent(message)}", file=sys.stderr)
            else:
                default(message, category, *place, **options)

        warnings.showwarning = show
        yield


def indent(message: object) -> str:
    """The message with its second and later lines indented, so that each looks like part of it."""
    return str(message).rstrip("\n").replace("\n", "\n  ")


@contextmanager
def noting_remarks(note: Callable[[str], None], known: Iterable[str] = ()) -> Iterator[None]:
    """Inside, each text of a `Remark` that is not `known` is passed to `note`, and is shown once.

    A filter of yours that ignores remarks, or makes them errors, comes first.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", Remark, append=True)
        shown, show = set(known), warnings.showwarning

        def once(message: Warning | str, category: type[Warning], *place: Any, **options: Any) -> None:
            if not issubclass(category, Remark):
                show(message, category, *place, **options)
            elif str(message) not in shown:
                shown.add(str(message))
                note(str(message))
                show(message, category, *place, **options)

        warnings.showwarning = once
        yield


def setting(
    default: Any = dataclasses.MISSING,
    why: str = "",
    *,
    source: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[Any, ...] = (),
    infinite: bool = False,
    transport: bool = False,
    file: bool = False,
    execution: bool = False,
) -> Any:
    """A dataclass field with a meaning, a source and a range.

    Args:
        default: the default value; without one the setting is required.
        why: the meaning, in a phrase.
        source: where the default comes from, such as a section of a paper.
        low: the smallest allowed number, inclusive.
        high: the largest allowed number, inclusive.
        choices: all allowed values; empty: any value of the field's type.
        infinite: whether a number may be infinite.
        transport: whether the setting only says how a service is reached (an address, a timeout). Such a
            setting is no part of fingerprints, and a collection can be resumed with another value.
        file: whether the setting names a file or a folder whose content counts: rows, words or a network.
        execution: whether the setting only says where, how fast and how precisely a metric computes.
    """
    metadata = {
        "why": why,
        "source": source,
        "low": low,
        "high": high,
        "choices": choices,
        "infinite": infinite,
        "transport": transport,
        "file": file,
        "execution": execution,
    }
    if type(default) in (dict, list):
        raise TypeError(
            f"the default of a setting must be immutable, got {default!r:.80}; use a Record or a tuple"
        )
    return dataclasses.field(default=default, metadata=metadata)


def redefault(base: type, name: str, default: Any, *, source: str = "", **changes: Any) -> Any:
    """A field of `base` with another default, and with its own source.

    Args:
        changes: other arguments of `setting` in place of those of `base`, such as `why` or `low`.
    """
    field = {field.name: field for field in dataclasses.fields(base)}[name]
    return dataclasses.field(default=default, metadata={**field.metadata, "source": source, **changes})


def check_ranges(config: Any) -> None:
    """Check every field of a dataclass against the range of its `setting`; call it in `__post_init__`.

    Raises:
        BadSetting: a value is outside its range.
    """
    for field in dataclasses.fields(config):
        problem = range_problem(field, getattr(config, field.name))
        if problem:
            raise BadSetting(f"{type(config).__name__}.{field.name} {problem}")


def range_problem(field: dataclasses.Field[Any], value: Any) -> str | None:
    """What is wrong with a field's value, such as "must be in [0, 1], got 2"; None when it is allowed."""
    allowed = field.metadata
    if allowed.get("choices") and value not in allowed["choices"]:
        near = nearest(value, map(str, allowed["choices"])) if isinstance(value, str) else None
        hint = f". Did you mean {near!r}?" if near else ""
        return f"must be one of {', '.join(map(repr, allowed['choices']))}, got {value!r}{hint}"
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    low, high, limits = allowed.get("low"), allowed.get("high"), range_text(field)
    if value != value or (low is not None and value < low) or (high is not None and value > high):
        return f"must be {limits or 'a number'}, got {value!r:.200}"
    if value in (math.inf, -math.inf) and not allowed.get("infinite"):
        return f"must be a finite number{', ' if limits else ''}{limits}, got {value!r}"
    return None


def default_text(field: dataclasses.Field[Any]) -> str:
    """The default of a field as text; "none" for None, as it is written in a recipe."""
    return "none" if field.default is None else repr(field.default)


def range_text(field: dataclasses.Field[Any]) -> str:
    """The range of a field as text: "in [0, 1]", "at least 1", "at most 9", "one of a, b", or ""."""
    low, high = field.metadata.get("low"), field.metadata.get("high")
    if field.metadata.get("choices"):
        return "one of " + ", ".join(map(str, field.metadata["choices"]))
    if low is not None and high is not None:
        return f"in [{low:g}, {high:g}]"
    if low is not None:
        return f"at least {low:g}"
    return f"at most {high:g}" if high is not None else ""
