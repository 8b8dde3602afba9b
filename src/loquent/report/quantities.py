"""Which scores are the same quantity under two names, or with a default written out.

The watch needs this to tell whether a metric measures what is rewarded.
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

EXECUTION = {"device", "dtype", "token_budget"}  # options that do not change the score
Named = tuple[str, dict[str, Any]]

# metrics that equal a penalty with the opposite sign, up to a constant: the name and options of the penalty
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
    """A score: its registered name, all its options, and its key.

    A reward without a key stands for all scores of its metric.
    """

    of: str
    options: Record
    key: str

    def part_of(self, rewarded: Quantity) -> bool:
        """Whether this score is rewarded by the other quantity."""
        return (self.of, self.options) == (rewarded.of, rewarded.options) and rewarded.key in ("", self.key)


def quantity(kind: str, of: str, options: Mapping[str, Any], key: str) -> Quantity:
    """The quantity of a registered score, under one name if it has several.

    Args:
        kind: "reward", whose name may be the name of a metric too, or "metric".
        of: the registered name.
        options: the options that are set; others have their defaults.
        key: the key of the score, or "".
    """
    settings = {**_defaults(kind, of), **options}
    equal = EQUAL.get((of, key or of))
    penalty = equal(settings) if equal else None
    if penalty:
        of, settings, key = *penalty, ""
    record = Record({name: frozen(value) for name, value in settings.items() if name not in EXECUTION})
    return Quantity(of, record, key)


@cache
def _defaults(kind: str, of: str) -> Mapping[str, Any]:
    """The defaults of a registered score's options; empty if its code cannot be imported."""
    where = kind if of in registry.names(kind) else "metric"
    try:
        schema = options_of(registry.find(where, of)) if of in registry.names(where) else None
    except (LoquentError, ImportError):
        return {}
    fields = dataclasses.fields(schema) if schema else ()
    return {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
