"""Whether the last of several evaluations on the same rows lies below an earlier one: a permutation test.

If the policy does not change, the values of a row are exchangeable: no evaluation is special. So the p-value
permutes the evaluations within each row, independently of other rows. All witnesses of a row take the same
permutation, because they measure the same answers. A witness is a value of which more is better.

The statistic of a witness is the largest paired t. With M_e the mean over R rows at evaluation e of E,

    t = max over k and e of (M_e - sum_i w_i M_{E-k+i}) / sqrt((1 + sum_i w_i^2) s^2 / R)
    w_i = 2 i / (k (k + 1)),  i = 1 .. k,  k = 1, 2, 4, 8 .. at most E / 5

where e is before the last k evaluations, which weigh more the later they are. k = 1 is the last one alone,
whose noise hides one fall of 5 standard errors in 20 when 10 witnesses are asked. s^2 is the mean square of
rows by evaluations, with (R - 1)(E - 1) degrees of freedom, and not the variance of one difference, whose
long tail costs power when the largest of many t is taken. With two evaluations it is the paired t test.

p is the share of permutations in which the largest t of all witnesses is at least that of the witness
(Westfall and Young 1993, Resampling-Based Multiple Testing, sec. 2.4). The data themselves count as one
permutation (Phipson and Smyth 2010, doi:10.2202/1544-6115.1585). So at most 5% of the policies that do not
change have a witness with p <= 0.05, whatever the distribution of its values, if rows are independent.
Pseudo-values of scores that count what rows share are not; what was measured of them, and how often falls are
seen, is in docs/reward-hacking.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics.intervals import unit_of

PERMUTATIONS = 2000
CHUNK = 2**18  # numbers that are permuted at once: about 8 MB with their copies
ROUNDING = 1e-12  # of the values: a smaller spread is none
Values = NDArray[np.float64]
"""One number for each evaluation, row and witness; NaN where there is none."""


@dataclass(frozen=True)
class Fall:
    """The last evaluation of a witness beside the best earlier one, whose index is `earlier`.

    `difference` is the score of the earlier evaluation minus that of the last one. `error` is its standard
    error over rows. `t` and `p` are those of the test.
    """

    earlier: int
    difference: float
    error: float
    t: float
    p: float


def complete_rows(values: Values) -> NDArray[np.bool_]:
    """Whether a row has a number at each evaluation: bool[rows, witnesses]."""
    return np.asarray(np.isfinite(values).all(0))


def find_falls(values: Values, permutations: int = PERMUTATIONS, scores: Values | None = None) -> list[Fall]:
    """The fall of each witness; a rise is the fall of the negative values.

    A row without a number at some evaluation is left out for that witness.

    Args:
        values: float64[evaluations, rows, witnesses]; more is better.
        permutations: the number of permutations, of a fixed stream: equal values have equal results.
        scores: float64[evaluations, witnesses], the scores whose best one and difference are returned; the
            test does not read them. By default the means over complete rows.

    Raises:
        BadSetting: there are fewer than 2 evaluations, or a witness has fewer than 2 complete rows.
    """
    complete = _check(values)
    counts = complete.sum(0)
    centred = _centre(np.moveaxis(np.where(complete, values, 0.0), 0, 1))
    squares = (centred**2).sum((0, 1))
    generator = Key(0, ("falls",)).generator()
    own = _largest_t(centred.sum(0)[None] / counts, squares, counts)[0]
    bound, passed = own - ROUNDING * np.abs(np.nan_to_num(own)), np.ones(len(own))
    chunk = max(1, CHUNK // centred[0].size)
    for start in range(0, permutations, chunk):
        means = _permute(centred, min(chunk, permutations - start), generator) / counts
        largest = _largest_t(means, squares, counts).max(1)
        passed += (largest[:, None] >= bound).sum(0)
    shares = passed / (permutations + 1)
    columns = [values[:, complete[:, i], i] for i in range(len(own))]
    means = [row_means(column) for column in columns] if scores is None else scores.T
    return [
        Fall(*_best(column, score), float(t), float(p))
        for column, score, t, p in zip(columns, means, own, shares, strict=True)
    ]


def _check(values: Any) -> NDArray[np.bool_]:
    shape = np.shape(values)
    if len(shape) != 3 or shape[0] < 2 or shape[2] < 1:
        raise BadSetting(f"values of shape {shape} must have at least 2 evaluations, and rows and witnesses")
    complete = complete_rows(values)
    if complete.sum(0).min() < 2:
        raise BadSetting("a witness has fewer than 2 rows with a number at each evaluation; leave it out")
    return complete


def _centre(values: Values) -> Values:
    """Each row minus its mean over evaluations, by the largest change: [rows, evaluations, witnesses]."""
    largest = np.abs(values).max((0, 1))
    values = values / np.where(largest > 0, largest, 1.0)
    changes = values - values[:, :1]
    size = np.abs(changes).max((0, 1))
    changes /= np.where(size > ROUNDING, size, np.inf)
    return np.asarray(changes - changes.mean(1, keepdims=True))


def _permute(centred: Values, count: int, generator: np.random.Generator) -> Values:
    """Sums over rows of permutations of evaluations within rows: [count, evaluations, witnesses]."""
    order = np.tile(np.arange(centred.shape[1]), (count, 1))
    sums = np.zeros((count, *centred.shape[1:]))
    for row in centred:
        sums += row[generator.permuted(order, axis=1)]
    return sums


def _largest_t(means: Values, squares: Values, counts: NDArray[np.int64]) -> Values:
    """The largest paired t of each permutation and witness: [permutations, witnesses]."""
    evaluations = means.shape[1]
    rest = squares - counts * (means**2).sum(1)
    rest = np.where(rest > ROUNDING * squares, rest, 0.0)
    error = np.sqrt(rest / ((counts - 1) * (evaluations - 1)) / counts)
    losses, length = [], 1
    while length <= max(1, evaluations // 5):
        weights = np.arange(1, length + 1) * 2 / (length * (length + 1))
        end = np.einsum("peb,e->pb", means[:, -length:], weights)
        losses.append((means[:, :-length].max(1) - end) / math.sqrt(1 + float(weights @ weights)))
        length *= 2
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.max(losses, 0) / error, nan=0.0, posinf=np.inf, neginf=-np.inf)


def row_means(column: Values) -> Values:
    """The mean of each evaluation over rows, of numbers as large as there are."""
    unit = unit_of([float(np.abs(column).max())])
    return np.asarray(unit * (column / unit).mean(1))


def _best(column: Values, scores: Values) -> tuple[int, float, float]:
    """The best earlier evaluation of one witness, and its difference to the last one with its error."""
    earlier = int(scores[:-1].argmax())
    unit = unit_of([float(np.abs(column).max())])
    lost = column[earlier] / unit - column[-1] / unit
    return earlier, float(scores[earlier] - scores[-1]), unit * float(lost.std(ddof=1)) / math.sqrt(len(lost))
