"""Which scores are one quantity: what is rewarded and what is measured beside it may be the same under two
names, or with a default spelled out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from loquent.core import registry
from loquent.core.options import options_of
from loquent.core.values import Record, frozen
from loquent.errors import LoquentError

HOW = {"device", "dtype", "token_budget"}  # options that say where and how fast, not what
Named = tuple[str, dict[str, Any]]

# scores that are a penalty turned over, up to a constant: what the penalty is called, and with which options
EQUAL: dict[tuple[str, str], Callable[[Mapping[str, Any]], Named | None]] = {
    ("watch", "watch/repetition"): lambda options: ("repetition", {"n": 3}),
    ("watch", "watch/copied"): lambda options: ("copying", {"n": 3}),
    ("repetition_rate", "repetition_rate"): lambda options: ("repetition", {"n": options["n"]}),
    ("concept_coverage", "concept_coverage"): lambda options: (
        ("missing_concepts", {"field": options["field"], "concepts": ()})
        if options["source"] == "row"
        else None
    ),
}


@dataclass(frozen=True)
class Quantity:
    """A score by the registered name behind it, all its options, and its key.

    A reward without a key stands for all of its metric's scores.
    """

    of: str
    options: Record
    key: str

    def part_of(self, rewarded: Quantity) -> bool:
        """Whether this is what is rewarded."""
        return (self.of, self.options) == (rewarded.of, rewarded.options) and rewarded.key in ("", self.key)


def quantity(kind: str, of: str, options: Mapping[str, Any], key: str) -> Quantity:
    """The quantity of a registered score with these options, under one name where it has several.

    Args:
        kind: "reward", whose name may be a metric's too, or "metric".
    """
    given = {**_defaults(kind, of), **options}
    equal = EQUAL.get((of, key or of))
    other = equal(given) if equal else None
    if other:
        of, given, key = *other, ""
    return Quantity(
        of, Record({name: frozen(value) for name, value in given.items() if name not in HOW}), key
    )


@cache
def _defaults(kind: str, of: str) -> Mapping[str, Any]:
    """What a registered score's options are where nothing is said; nothing where they cannot be read here."""
    where = kind if of in registry.names(kind) else "metric"
    try:
        schema = options_of(registry.find(where, of)) if of in registry.names(where) else None
    except (LoquentError, ImportError):
        return {}
    fields = dataclasses.fields(schema) if schema else ()
    return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
