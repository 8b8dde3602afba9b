"""The greatest return that the rewards of a recipe can give, where their ranges are known.

The watch needs it to tell a saturated reward from one that merely does not rise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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
