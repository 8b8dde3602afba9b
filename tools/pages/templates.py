"""Templates of cells: texts with figures such as `{ppo.reward:.3f}` in braces, and parts `(? [...])`.

A figure is a path below the row's node or a small calculation, and a format: digits after the point (`.3f`),
all digits (`.2g`), commas (`,`), a sign (`+`). A part `(? ... ?)` is left out if one of its paths is missing.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from tools.pages.records import Problem, calculate

FIELD = re.compile(r"\{([^{}]+?)(?::(\+?,?(?:\.\d+)?[fg]?))?\}")
OPTIONAL = re.compile(r"\(\?(.*?)\?\)")


def fill(template: str, node: Any, name: str = "") -> str:
    """A template with its figures from a node; `{name}` is the row's name.

    Raises:
        Problem: a path is missing, or a value does not fit its format.
    """

    def optional(match: re.Match[str]) -> str:
        try:
            return fill(match[1], node, name)
        except Problem:
            return ""

    def field(match: re.Match[str]) -> str:
        return name if match[1] == "name" else show(calculate(node, match[1]), match[2], match[1])

    return FIELD.sub(field, OPTIONAL.sub(optional, template))


def show(value: Any, form: str | None, path: str) -> str:
    """A value in a format; texts and integers need none."""
    if isinstance(value, str) and not form:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Problem(f"{path!r} is no figure, but {str(value)[:60]!r}")
    if isinstance(value, float) and not form:
        raise Problem(f"{path!r} is {value}; write its digits, such as {{{path}:.3f}}")
    if not math.isfinite(value):
        raise Problem(f"{path!r}: {value} is no figure")
    return round_half_up(value, form or "d")


def round_half_up(value: float, form: str) -> str:
    """A number in a format. A half is rounded away from zero, as readers of a record do; 0 has no sign."""
    digits = re.search(r"\.(\d+)f", form)
    if not digits:
        return format(value or 0, form)
    places = int(digits[1])
    exact = Decimal(repr(value)).quantize(
        Decimal(1).scaleb(-places), ROUND_HALF_UP, Context(prec=400 + places)
    )
    return format(exact or abs(exact), form)
