"""Intervals over seeds and rows: by hand, and that they hold the mean over all rows."""

import math

import numpy as np
import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics import intervals, two_way
from loquent.statistics.comparing import between


def test_an_interval_by_hand():
    # [[0, 2], [4, 2]]: seed means 1, 3 (variance 2), row means 2, 2 (variance 0), grand mean 2; residuals
    # -1, 1, 1, -1, so MS_rest = 4. Squared errors: seeds 2 / 2 = 1, rows 0 / 2 = 0, rest 4 / 4 = 1.
    # The total is max(1 + 0 - 1, 1, 0) = 1, with 1 / (1² / 1 + 1² / 1) = 0.5 degrees of freedom, at least 1.
    found = two_way.interval(np.array([[0.0, 2.0], [4.0, 2.0]]))
    assert (found.mean, found.error, found.freedom, found.n) == (2.0, pytest.approx(1.0), 1.0, 2)
    assert (found.low, found.high) == (None, None), "fewer than 3 seeds have no interval"


def test_the_ends_by_hand():
    # rows -1, 0, 1 and the seeds' effects -2, -1, 0, 1, 2 without a rest. Variance of the seed means 10 / 4,
    # so 1/2 by 5 seeds; of the row means 1, so 1/3 by 3 rows; rest 0. The total is 5/6, with
    # (5/6)² / ((1/2)² / 4 + (1/3)² / 2) = 100/17 degrees of freedom, and nothing is skewed.
    values = np.arange(-2.0, 3)[:, None] + np.array([[-1.0, 0.0, 1.0]])
    found = two_way.interval(values)
    assert (found.error, found.freedom) == pytest.approx((math.sqrt(5 / 6), 100 / 17))
    whole = intervals.student(100 / 17) * math.sqrt(5 / 6)
    assert (found.low, found.high) == pytest.approx((-whole, whole))
    wider = two_way.interval(np.tile(values, (1, 100)))  # many rows: the seeds alone decide
    assert wider.high == pytest.approx(intervals.student(4) * math.sqrt(1 / 2))
    assert two_way.interval(values, 7.0).low == pytest.approx(7 - whole), "about a mean that is known better"


SEEDS = np.array([[-1.0], [0.0], [1.0]])
FIRST = SEEDS + np.zeros((3, 4))
SECOND = SEEDS + np.array([0.0, 2, 4, 6]) + np.array([[1.0, -1, 0, 0], [-1, 1, 0, 0], [0, 0, 0, 0]])


def test_a_difference_by_hand():
    # Seeds: variance 1 in both, squared error 1/3 + 1/3 with 4 degrees of freedom. Rows: differences 0, 2, 4,
    # 6 of variance 20/3, so 5/3 with 3. Rest: sum of squares 4 with 6 degrees of freedom, 4 / 6 / 12 = 1/18.
    # The total is 2/3 + 5/3 - 1/18 = 41/18 with (41/18)² / (4/9 / 4 + 25/9 / 3 + 1/324 / 6) = 5.0005.
    found = two_way.difference(FIRST, SECOND)
    assert (found.mean, found.n) == (pytest.approx(3), 3)
    assert (found.error, found.freedom) == pytest.approx((math.sqrt(41 / 18), 5.00050), rel=1e-5)
    assert found.p == pytest.approx(intervals.student_tail(3 / math.sqrt(41 / 18), found.freedom))
    assert found.p == pytest.approx(0.1035, abs=1e-4)
    welch = between(dict(enumerate((-1.0, 0, 1))), dict(enumerate((2.0, 3, 4))))
    assert welch.p == pytest.approx(0.0213, abs=1e-4), "these rows alone would decide"
    assert found.high - found.mean == pytest.approx(intervals.student(found.freedom) * found.error)


def test_pairs_by_hand():
    """Equal seeds fall out: what is left are rows of 0, 2, 4, 6, and the rest."""
    found = two_way.interval(SECOND - FIRST)
    # seeds 0; rows 5/3 with 3 degrees of freedom; rest 1/18 with 6: the total is that of the rows
    assert (found.error, found.freedom) == pytest.approx((math.sqrt(5 / 3), 25 / 9 / (25 / 27 + 1 / 1944)))


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize("paired", [False, True])
def test_p_is_at_least_that_over_seeds_and_agrees_with_the_interval(seeds, paired):
    """100 tables with other sizes of effects: 0 is in the interval where p > 5%, and nowhere else."""
    stream = Key(seeds, ("agree", str(paired))).generator()
    decided = 0
    for _ in range(100):
        sizes = np.exp2(stream.uniform(-3, 3, size=(3, 1, 1)))
        rows = stream.exponential(size=(2, 1, 20)) * sizes[0]
        first, second = (
            rows[i] + stream.exponential(size=(seeds, 1)) ** 2 * sizes[1] + stream.normal(size=(seeds, 20))
            for i in range(2)
        )
        second = second + stream.choice([0, 1, 3]) * sizes[2]
        found = two_way.interval(second - first) if paired else two_way.difference(first, second)
        cells = [dict(enumerate(values.mean(1).tolist())) for values in (first, second)]
        alone = between(*cells, paired=paired)
        assert found.p >= alone.p - 1e-12
        assert found.low - 1e-9 <= alone.low <= alone.high <= found.high + 1e-9
        for one in (found, alone):
            assert (one.p <= 0.05) == (not one.low <= 0 <= one.high)
        decided += found.p <= 0.05
    assert 5 < decided < 95, "both happen"


def test_a_difference_pairs_the_rows():
    """Rows vary by 1 in both cells alike, so they leave the difference of 0.3 as it is."""
    stream = Key(1, ("difference",)).generator()
    rows = stream.normal(size=(1, 100))
    first, second = (rows + 0.1 * stream.normal(size=(3, 100)) + shift for shift in (0.0, 0.3))
    found = two_way.difference(first, second)
    assert 0.2 < found.low < 0.3 < found.high < 0.4
    assert two_way.interval(second).error > 4 * found.error, "rows alone vary by more"


def test_methods_that_no_seed_moves_are_compared_over_rows():
    """Two policies without training: there is no test over seeds, and rows decide."""
    rows = Key(3, ("rows",)).generator().normal(size=50)
    found = two_way.difference(np.tile(rows, (3, 1)), np.tile(rows + 0.1 * np.arange(50), (3, 1)))
    assert found.freedom == pytest.approx(49)
    assert found.p < 1e-6


@pytest.mark.parametrize("seeds", [3, 5])
def test_the_mean_over_all_rows_is_held(seeds):
    """300 tables of 50 rows: intervals over seeds alone hold it in half of them at most."""
    stream = Key(seeds, ("held",)).generator()
    held = alone = 0
    for _ in range(300):
        values = 0.02 * stream.normal(size=(seeds, 1)) + 0.5 * stream.normal(size=(1, 50))
        values = values + 0.1 * stream.normal(size=(seeds, 50))
        found, over_seeds = two_way.interval(values), intervals.interval(values.mean(1).tolist())
        held += found.low <= 0 <= found.high
        alone += over_seeds.low <= 0 <= over_seeds.high
    assert 0.91 < held / 300 < 0.985
    assert alone / 300 < 0.65


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((1, 5)), "at least 2 seeds"),
        (np.zeros(5), "shape"),
        (np.array([[1.0, np.nan]] * 2), "finite"),
    ],
)
def test_what_has_no_interval_is_refused(values, message):
    with pytest.raises(BadSetting, match=message):
        two_way.interval(values)
    with pytest.raises(BadSetting, match="same rows"):
        two_way.difference(np.ones((2, 3)), np.ones((2, 4)))
