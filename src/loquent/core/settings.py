"""Settings: the fields of frozen dataclasses that a recipe fills.

Each says what it is, why, from where, and its range.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from loquent.errors import BadSetting


class Remark(UserWarning):
    """Something that was asked for and has no effect: not wrong enough to stop for, and not to be passed over
    in silence.
    """


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
) -> Any:
    """A dataclass field with a meaning: `why` in a phrase, `source` where the default is from, an inclusive
    range or choices.

    Numbers are finite, but for a field that says it may be `infinite`. A `transport` setting says how
    something is reached (an address, a timeout), not what it answers: it is no part of fingerprints, and a
    collection is resumed whatever its value.
    """
    metadata = {
        "why": why,
        "source": source,
        "low": low,
        "high": high,
        "choices": choices,
        "infinite": infinite,
        "transport": transport,
    }
    if type(default) in (dict, list):
        raise TypeError("a default is a value: use a Record or a tuple")
    return dataclasses.field(default=default, metadata=metadata)


def check_ranges(config: Any) -> None:
    """Raise BadSetting when a field of a dataclass lies outside what its `setting` allows.

    Call it in `__post_init__`.
    """
    for field in dataclasses.fields(config):
        problem = range_problem(field, getattr(config, field.name))
        if problem:
            raise BadSetting(
                f"{type(config).__name__}.{field.name} = {getattr(config, field.name)!r} {problem}"
            )


def range_problem(field: dataclasses.Field[Any], value: Any) -> str | None:
    """Why a value is outside a field's range, in words; None when it is inside."""
    allowed = field.metadata
    if allowed.get("choices") and value not in allowed["choices"]:
        return f"is none of {', '.join(map(repr, allowed['choices']))}"
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    low, high = allowed.get("low"), allowed.get("high")
    if math.isnan(value) or (low is not None and value < low) or (high is not None and value > high):
        return f"is outside {range_text(field)}" if range_text(field) else "is no number"
    if math.isinf(value) and not allowed.get("infinite"):
        return "is infinite; a finite number is right" + (
            f", in {range_text(field)}" if range_text(field) else ""
        )
    return None


def range_text(field: dataclasses.Field[Any]) -> str:
    """The range of a field as text: "[0, 1]", "at least 1", one of its choices, or ""."""
    low, high = field.metadata.get("low"), field.metadata.get("high")
    if field.metadata.get("choices"):
        return "one of " + ", ".join(map(str, field.metadata["choices"]))
    if low is not None and high is not None:
        return f"[{low:g}, {high:g}]"
    if low is not None:
        return f"the range of at least {low:g}"
    return f"the range of at most {high:g}" if high is not None else ""
