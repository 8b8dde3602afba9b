"""The evidence that a series of evaluations fell or rose, as p-values that a random walk does not deceive.

A value x_1 .. x_n that wanders without direction (a random walk) ends far from its start. Tests that take the
values about a line for independent call most walks a fall. Therefore `fall` tests against walks. It averages
n >= 16 evaluations in 8 blocks of nearly equal size w; with fewer, a block is one evaluation (w = 1). The
losses between neighbouring blocks are d_1 .. d_m. For a walk whose steps have variance s^2, var(d) = v s^2,
the covariance of neighbouring losses is c s^2, and var(sum d) = u s^2, with v = (2 w^2 + 1) / (3 w),
c = (w^2 - 1) / (6 w) and u = m v + 2 (m - 1) c. Three shapes of a fall share the error:

    even     40%   t = sum d / sqrt(u s^2), s^2 = (sample variance of d) / (v - 2 c / m); Student's t with
                   m - 1 degrees of freedom
    smooth   40%   t = (largest block - last block) / sqrt(u s^2), s^2 = mean (d_{i+1} - d_i)^2 / (2 (v - c));
                   twice the tail (reflection) of Student's t with 4 (m - 1)^2 / (6 m - 8) degrees of freedom
                   (Satterthwaite)
    at once  20%   the largest loss between two evaluations, without blocks, as an outlier among the others
                   (Grubbs): m times the tail of its deleted residual with m - 2 degrees of freedom; and the
                   same of the return, which must rise most in the same step. The larger of both p-values

A loss at once has no evidence of its own against values that rarely move, and then far: rare events, steps
with long tails, and steps that shrink while training settles look like one. A witness that has nothing to do
with the return seldom makes its largest loss when the return rises at once.

Noise about a level and an autoregression make these p-values larger, not smaller. The price is power: a fall
in noise is seen only if it is large.

The return is one value, and nothing is chosen among many. Therefore `rise` asks only whether two means differ
by more than the noise of evaluations (80%, `gain`), or whether the return rose at once (20%). The variance of
the noise about a line is mean (x_{i-1} - 2 x_i + x_{i+1})^2 / 6, with 36 / 70 (n - 2) degrees of freedom.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from itertools import pairwise

from loquent.statistics.intervals import student_tail

EVEN, SMOOTH, AT_ONCE = 0.4, 0.4, 0.2
BLOCKS = 8


def fall(values: Sequence[float], returns: Sequence[float]) -> float:
    """The p-value of a fall of at least 5 values, against noise and random walks.

    Args:
        returns: the return of the same evaluations; only a loss at once reads it.
    """
    shares = ((_even(values), EVEN), (_smooth(values), SMOOTH), (_parting(values, returns), AT_ONCE))
    return min(1.0, *(p / share for p, share in shares))


def rise(values: Sequence[float], start: int, length: int, window: int) -> float:
    """The p-value of a rise from the mean of `length` values, beginning at `start`, to the last `window`."""
    p = gain(values, start, length, window)
    if p == 1:
        return 1.0
    return min(1.0, p / (1 - AT_ONCE), at_once(_turned(values)) / AT_ONCE)


def gain(values: Sequence[float], start: int, length: int, window: int) -> float:
    """The p-value of the same rise against the noise of evaluations alone."""
    risen = statistics.fmean(values[-window:]) - statistics.fmean(values[start : start + length])
    if risen <= 0:
        return 1.0
    bends = [a - 2 * b + c for a, b, c in zip(values, values[1:], values[2:], strict=False)]
    error = math.sqrt(_mean_square(bends) / 6 * (1 / length + 1 / window))
    return tail(_ratio(risen, error), 36 / 70 * len(bends))


def at_once(values: Sequence[float]) -> float:
    """The p-value of the largest loss between neighbours as an outlier among all of them."""
    losses = _losses(values)
    m = len(losses)
    largest = losses.pop(losses.index(max(losses)))
    if largest <= 0:
        return 1.0
    excess, error = largest - statistics.fmean(losses), math.sqrt(_variance(losses) * (1 + 1 / (m - 1)))
    return min(1.0, m * tail(_ratio(excess, error), m - 2))


def _parting(values: Sequence[float], returns: Sequence[float]) -> float:
    """The p-value of a loss at once in the step in which the return rises at once."""
    losses, rises = _losses(values), _losses(_turned(returns))
    if losses.index(max(losses)) != rises.index(max(rises)):
        return 1.0
    return max(at_once(values), at_once(_turned(returns)))


def _even(values: Sequence[float]) -> float:
    losses = _losses(_blocks(values))
    m, (v, c) = len(losses), _walk(values)
    step = _variance(losses) / (v - 2 * c / m)
    return tail(_ratio(sum(losses), math.sqrt((m * v + 2 * (m - 1) * c) * step)), m - 1)


def _smooth(values: Sequence[float]) -> float:
    blocks = _blocks(values)
    losses = _losses(blocks)
    m, (v, c) = len(losses), _walk(values)
    step = _mean_square(_losses(losses)) / (2 * (v - c))
    t = _ratio(max(blocks) - blocks[-1], math.sqrt((m * v + 2 * (m - 1) * c) * step))
    return min(1.0, 2 * tail(t, 4 * (m - 1) ** 2 / (6 * m - 8)))


def _blocks(values: Sequence[float]) -> list[float]:
    """The means of 8 blocks; of fewer than 16 values, the values."""
    n = len(values)
    if n < 2 * BLOCKS:
        return list(values)
    cuts = [i * n // BLOCKS for i in range(BLOCKS + 1)]
    return [statistics.fmean(values[a:b]) for a, b in pairwise(cuts)]


def _walk(values: Sequence[float]) -> tuple[float, float]:
    """v and c: the variance of a loss and the covariance of neighbours, of a walk with unit steps."""
    w = len(values) / BLOCKS if len(values) >= 2 * BLOCKS else 1.0
    return (2 * w * w + 1) / (3 * w), (w * w - 1) / (6 * w)


def _losses(values: Sequence[float]) -> list[float]:
    return [a - b for a, b in pairwise(values)]


def _turned(values: Sequence[float]) -> list[float]:
    return [-value for value in values]


def _mean_square(numbers: Sequence[float]) -> float:
    return statistics.fmean([number * number for number in numbers])


def _variance(numbers: Sequence[float]) -> float:
    """The sample variance; `statistics.variance` is exact and many times slower."""
    mean = statistics.fmean(numbers)
    return sum((number - mean) ** 2 for number in numbers) / (len(numbers) - 1)


def _ratio(change: float, error: float) -> float:
    """change / error; infinite for a change without an error, and 0 for neither."""
    return change / error if error > 0 else math.copysign(math.inf, change) if change else 0.0


def tail(t: float, freedom: float) -> float:
    """The probability of more than t under Student's t-distribution; `freedom` may be a fraction."""
    half = student_tail(abs(t), freedom) / 2
    return half if t > 0 else 1 - half
