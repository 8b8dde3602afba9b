"""Whether the last of several evaluations on the same rows lies below an earlier one: two resampling tests.

A policy may stay as it is, and its evaluations have noise of their own. Then the values of a row are
exchangeable, and the evaluations are permuted within each row. Or the policy changes and no mean does, and
rows keep their values from one evaluation to the next, since evaluations draw from the same streams. Then
the differences to the end are as likely up as down, and the sign of all differences of a row is drawn. p is
the larger one of both tests. All witnesses of a row take the same permutation or sign, because they measure
the same answers. A witness is a value of which more is better.

The difference of evaluation e to the end, where M_e is the mean over R rows at evaluation e of E, is

    d = M_e - sum_i w_i M_{E-k+i},   w_i = 2 i / (k (k + 1)),  i = 1 .. k,  k = 1, 2, 4, 8 .. at most E / 5

where e is before the last k evaluations, which weigh more the later they are. k = 1 is the last one alone,
whose noise hides one fall of 5 standard errors in 20 when 10 witnesses are asked. The statistic of a witness
is the largest t = d / error over e and k. For the permutations error^2 = (1 + sum_i w_i^2) s^2 / R, with the
mean square s^2 of rows by evaluations, which has (R - 1)(E - 1) degrees of freedom: the long tail of the
variance of one difference would cost power. For the signs, error^2 is that variance by R, since differences
of neighbours vary less than others if rows keep their values.

p is the share of permutations, or of signs, in which the largest t of all witnesses is at least that of the
witness (Westfall and Young 1993, Resampling-Based Multiple Testing, sec. 2.4). The data themselves count as
one (Phipson and Smyth 2010, doi:10.2202/1544-6115.1585). Both tests take rows to be independent. Scores that
count what rows share have pseudo-values that are not; what was measured of them, and how often falls are
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
    error over rows. `t` is that of the permutations, and `p` the larger one of both tests.
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
        permutations: the number of permutations and of signs, of fixed streams: equal values have equal
            results.
        scores: float64[evaluations, witnesses], the scores whose best one and difference are returned; the
            test does not read them. By default the means over complete rows.

    Raises:
        BadSetting: there are fewer than 2 evaluations, or a witness has fewer than 2 complete rows.
    """
    complete = _check(values)
    counts = complete.sum(0)
    centred = _centre(np.moveaxis(np.where(complete, values, 0.0), 0, 1))
    own, permuted = _by_permutations(centred, counts, permutations)
    shares = np.maximum(permuted, _by_signs(centred, complete, permutations)) / (permutations + 1)
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


def _by_permutations(centred: Values, counts: NDArray[np.int64], permutations: int) -> tuple[Any, Any]:
    """The t of each witness, and how many permutations reach it, with the data."""
    squares = (centred**2).sum((0, 1))
    generator = Key(0, ("falls",)).generator()
    own = _largest_t(centred.sum(0)[None] / counts, squares, counts)[0]
    bound, passed = _least(own), np.ones(len(own))
    chunk = max(1, CHUNK // centred[0].size)
    for start in range(0, permutations, chunk):
        means = _permute(centred, min(chunk, permutations - start), generator) / counts
        passed += (_largest_t(means, squares, counts).max(1)[:, None] >= bound).sum(0)
    return own, passed


def _by_signs(centred: Values, complete: NDArray[np.bool_], permutations: int) -> Any:
    """How many draws of a sign for each row reach the t of each witness, with the data."""
    ends = [_loss(np.moveaxis(centred, 1, 0), weights) for weights in _ends(centred.shape[1])]
    losses = np.where(complete, np.concatenate(ends), 0.0)
    counts, squares = complete.sum(0), (losses**2).sum(1)
    by_row = np.moveaxis(losses, 1, 0).reshape(len(centred), -1)
    generator = Key(0, ("falls", "signs")).generator()

    def largest(signs: Values) -> Values:
        means = (signs @ by_row).reshape(len(signs), *squares.shape) / counts
        variance = np.maximum(squares / counts - means**2, ROUNDING * squares / counts) / (counts - 1)
        return _ratio(means, np.sqrt(variance)).max(1)

    bound = _least(largest(np.ones((1, len(centred))))[0])
    passed, chunk = np.ones(len(bound)), max(1, CHUNK // squares.size)
    for start in range(0, permutations, chunk):
        signs = generator.choice([-1.0, 1.0], (min(chunk, permutations - start), len(centred)))
        passed += (largest(signs).max(1)[:, None] >= bound).sum(0)
    return passed


def _least(own: Values) -> Values:
    """The smallest t that counts as one of at least `own`, in spite of rounding."""
    return np.asarray(own - ROUNDING * np.abs(np.nan_to_num(own)))


def _ends(evaluations: int) -> list[Values]:
    """The weights of the evaluations that are the end: the last 1, 2, 4 .. of them."""
    lengths = [1]
    while 2 * lengths[-1] <= evaluations // 5:
        lengths.append(2 * lengths[-1])
    return [np.arange(1, length + 1) * 2 / (length * (length + 1)) for length in lengths]


def _loss(values: Values, weights: Values) -> Values:
    """Each evaluation before the end minus the end; evaluations are the first axis."""
    return np.asarray(values[: -len(weights)] - np.tensordot(weights, values[-len(weights) :], 1))


def _ratio(means: Values, errors: Values) -> Values:
    """Means by their errors; 0 where both are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(means / errors, nan=0.0, posinf=np.inf, neginf=-np.inf)


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
    by_evaluation = np.moveaxis(means, 1, 0)
    losses = [
        _loss(by_evaluation, weights).max(0) / math.sqrt(1 + float(weights @ weights))
        for weights in _ends(evaluations)
    ]
    return _ratio(np.max(losses, 0), error)


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
