"""The ranges of values: as the evaluations recorded them, or as the meaning of a key has them.

Intervals and bands of a mean end at its range: a share above 1 is no possible mean. Where no evaluation has
recorded ranges, as in a run that is not finished, a value has the range that its registered metric declares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from loquent.algorithms.logged_keys import BUILT_IN
from loquent.core.log_keys import LOGGED, Logged, definition
from loquent.core.metric import EVERYTHING, SHARES, Range
from loquent.core.values import EMPTY
from loquent.data import outcomes
from loquent.errors import LoquentError
from loquent.files import final_evaluation
from loquent.metrics.making import declared_range
from loquent.statistics.intervals import Interval

HELD_OUT = "evaluation/"
KNOWN: dict[str, Logged] = {
    **LOGGED,
    **{key: meaning for own in BUILT_IN.values() for key, meaning in own.items()},
}
Found = TypeVar("Found", bound=Interval)


def limits(
    key: str,
    values: Iterable[float],
    evaluations: Iterable[Mapping[str, Any]] = (),
    meaning: Logged | None = None,
) -> Range:
    """The least and the greatest possible mean of a logged key; infinite where it is unknown or open.

    Args:
        key: a key of `metrics.jsonl`; "evaluation/KEY" for the value KEY of an evaluation.
        values: the values that were measured; if one lies outside, the range is not that of these values.
        evaluations: the evaluations at the end of the runs.
        meaning: the definition of the key; by default that of the built-in tables.
    """
    meaning = meaning or definition(key, KNOWN) or Logged("", "")
    name = key.removeprefix(HELD_OUT)
    if outcomes.is_share(name) or meaning.unit.startswith("share of "):
        low, high = SHARES
    elif key.startswith(HELD_OUT):
        ranges = [_range(name, own) for own in evaluations if name in own["values"]] or [_range(name)]
        low = max(meaning.least, min(low for low, _ in ranges))
        high = max(high for _, high in ranges)
    else:
        low, high = meaning.least, EVERYTHING[1]
    return (low, high) if all(low <= value <= high for value in values) else EVERYTHING


def _range(name: str, evaluation: Mapping[str, Any] = EMPTY) -> Range:
    """The range that an evaluation recorded, or that a registered metric declares.

    Code that only a run's file names is not imported.
    """
    if final_evaluation.RANGES in evaluation:
        return final_evaluation.range_of(evaluation, name)
    try:
        return declared_range(name)
    except (LoquentError, ImportError):
        return EVERYTHING


def cut(found: Found, ends: Range) -> Found:
    """The interval without what lies beyond these ends; its coverage stays the same."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, ends[0]), high=min(found.high, ends[1]))
