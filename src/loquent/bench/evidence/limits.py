"""The ranges of columns, at which the intervals of their means end: a share above 1 is no possible mean."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from loquent.data import outcomes
from loquent.report.ceiling import RANGES, SHARES, UNBOUNDED
from loquent.statistics.intervals import Interval

Found = TypeVar("Found", bound=Interval)
BY_NAME = RANGES | {  # by the beginning of a key, up to a slash or hyphen
    "score": SHARES,
    "ranking": SHARES,
    "diversity/distinct": SHARES,
    "diversity/msttr": SHARES,
    "rouge": SHARES,
    "rouge_l_max": SHARES,
    "meteor": SHARES,
    "parent": SHARES,
    "sacrebleu": SHARES,
    "chrf": SHARES,
    "ter": (0.0, math.inf),
    "cider": (0.0, math.inf),
    "intent_accuracy": SHARES,
    "kl": (0.0, math.inf),
    "perplexity": (1.0, math.inf),
    "reward/toxicity": (0.0, 2.0),  # of the task `comments`, as the next two
    "reward/noised_toxicity": (0.0, 2.0),
    "reward/upvotes": (-1.0, 1.0),
}
EVERYTHING = -math.inf, math.inf


def limits(metric: str, values: Iterable[float]) -> tuple[float, float]:
    """The least and the greatest possible mean of a metric; infinite where it is unknown or open.

    It is unknown too if a value lies outside: another metric has the name.
    """
    if outcomes.is_share(metric):
        low, high = SHARES
    elif metric in UNBOUNDED:
        return EVERYTHING
    else:
        names = [name for name in BY_NAME if f"{metric}/".startswith((f"{name}/", f"{name}-"))]
        low, high = BY_NAME[max(names, key=len)] if names else EVERYTHING
    return (low, high) if all(low <= value <= high for value in values) else EVERYTHING


def cut(found: Found, ends: tuple[float, float]) -> Found:
    """The interval without what lies beyond these ends; its coverage stays the same."""
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, ends[0]), high=min(found.high, ends[1]))
