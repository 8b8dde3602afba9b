"""Whether a series rose by more than the noise of its values, where nothing but the series is known.

The variance of the noise about a line is mean (x_{i-1} - 2 x_i + x_{i+1})^2 / 6, with 36 / 70 (n - 2) degrees
of freedom. A random walk passes for a rise; with values by row, ask `falls`.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from loquent.statistics.intervals import student_tail


def gain(values: Sequence[float], start: int, length: int, window: int) -> float:
    """The p-value of a rise from the mean of `length` values, beginning at `start`, to the last `window`."""
    risen = statistics.fmean(values[-window:]) - statistics.fmean(values[start : start + length])
    if risen <= 0:
        return 1.0
    squares = [(a - 2 * b + c) ** 2 for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    error = math.sqrt(statistics.fmean(squares) / 6 * (1 / length + 1 / window))
    return student_tail(risen / error, 36 / 70 * len(squares)) / 2 if error > 0 else 0.0
