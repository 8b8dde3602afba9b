"""The ranges of scores: of the means of metrics, and of the return that a recipe can give.

Intervals and bands of a mean end at its range: a share above 1 is no possible mean. The watch needs the
greatest return to tell a saturated reward from one that merely does not rise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from loquent.data import outcomes
from loquent.statistics.intervals import Interval

SHARES = (0.0, 1.0)
PENALTIES = (-math.inf, 0.0)
RANGES = {  # by registered name: the least and the greatest score of a text
    "sentiment": SHARES,
    "judge": SHARES,
    "lexicon": (-1.0, 1.0),
    "watch": SHARES,  # overlap, repetition and copied; `words` has its own line below
    "concept_coverage": SHARES,
    "repetition_rate": SHARES,
    "repetition": PENALTIES,
    "copying": PENALTIES,
    "missing_concepts": PENALTIES,
}
UNBOUNDED = ("watch/words",)
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
Found = TypeVar("Found", bound=Interval)


def ceiling(config: Mapping[str, Any]) -> float | None:
    """The sum of what each reward can give at most; None if the range of one is unknown or open."""
    total = math.fsum(_most(name, settings) for name, settings in (config.get("rewards") or {}).items())
    return total if math.isfinite(total) else None


def _most(name: str, settings: Any) -> float:
    options = dict(settings) if isinstance(settings, Mapping) else {"weight": settings}
    weight = options.get("weight", 1.0)
    known = RANGES.get(options.get("of") or name)
    if known is None or options.get("potential") or (options.get("key") in UNBOUNDED):
        low, high = -math.inf, math.inf
    else:
        low, high = known
    if options.get("clip"):
        floor, roof = options["clip"]
        low, high = max(low, floor), min(high, roof)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight == 0:
        return 0.0 if weight == 0 else math.inf
    return weight * (high if weight > 0 else low)


def limits(metric: str, values: Iterable[float], unit: str = "") -> tuple[float, float]:
    """The least and the greatest possible mean of a metric; infinite where it is unknown or open.

    It is unknown too if a value lies outside: another metric has the name.

    Args:
        unit: the unit of the value, if it is known (`core.logged`); "share of ..." is one of shares.
    """
    if outcomes.is_share(metric) or unit.startswith("share of "):
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
