"""Comparison with the stored scores of official scripts."""

import json
import math
from pathlib import Path

GOLDEN = Path(__file__).parents[2] / "metrics" / "golden"


def stored(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def worst(scores, expected):
    """The largest difference; both lists are whole, and at least 200 long."""
    assert len(scores) == len(expected) >= 200
    return max(abs(a - b) for a, b in zip(scores, expected, strict=True))


def agree(scores, expected, tolerance=1e-6):
    """Whether all scores agree; it is seen to fail when one score in the middle is another."""
    changed = [*expected[:100], expected[100] + 2 * tolerance, *expected[101:]]
    assert worst(scores, changed) > tolerance
    return math.isfinite(worst(scores, expected)) and worst(scores, expected) <= tolerance
