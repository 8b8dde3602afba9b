"""Intervals over seeds and rows: by hand, and that they hold the mean over all rows."""

import math

import numpy as np
import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics import intervals, two_way


def test_an_interval_by_hand():
    # [[0, 2], [4, 2]]: seed means 1, 3 (variance 2), row means 2, 2 (variance 0), grand mean 2; residuals
    # -1, 1, 1, -1, so MS_rest = 4. Squared errors: seeds 2 / 2 = 1, rows 0 / 2 = 0, rest 4 / 4 = 1.
    # The total is max(1 + 0 - 1, 1, 0) = 1, with 1 / (1² / 1 + 1² / 1) = 0.5 degrees of freedom, at least 1.
    found = two_way.interval(np.array([[0.0, 2.0], [4.0, 2.0]]))
    assert (found.mean, found.error, found.freedom, found.n) == (2.0, pytest.approx(1.0), 1.0, 2)
    assert (found.low, found.high) == (None, None), "fewer than 5 seeds have no interval"


def test_the_ends_by_hand():
    # rows -1, 0, 1 and the seeds' effects -2, -1, 0, 1, 2 without a rest. Variance of the seed means 10 / 4,
    # so 1/2 by 5 seeds; of the row means 1, so 1/3 by 3 rows; rest 0. The total is 5/6, with
    # (5/6)² / ((1/2)² / 4 + (1/3)² / 2) = 100/17 degrees of freedom, and nothing is skewed.
    values = np.arange(-2.0, 3)[:, None] + np.array([[-1.0, 0.0, 1.0]])
    found = two_way.interval(values)
    assert (found.error, found.freedom) == pytest.approx((math.sqrt(5 / 6), 100 / 17))
    whole = intervals.student(100 / 17) * math.sqrt(5 / 6)
    rows = intervals.student(2) / math.sqrt(3)  # 2.484; the whole is 2.244, so the rows alone decide
    assert rows > whole
    assert (found.low, found.high) == pytest.approx((-rows, rows))
    wider = two_way.interval(np.tile(values, (1, 2)))  # twice the rows: the seeds alone decide
    assert wider.high == pytest.approx(intervals.student(4) * math.sqrt(1 / 2))


def test_rows_alone_are_those_of_their_mean():
    """Without an effect of the seed, the interval is that over the rows."""
    rows = Key(0, ("rows",)).generator().normal(size=40)
    found, alone = two_way.interval(np.stack([rows] * 5)), intervals.interval(rows.tolist())
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


def test_a_difference_pairs_the_rows():
    """Rows vary by 1 in both cells alike, so they leave the difference of 0.3 as it is."""
    stream = Key(1, ("difference",)).generator()
    rows = stream.normal(size=(1, 100))
    first, second = (rows + 0.1 * stream.normal(size=(10, 100)) + shift for shift in (0.0, 0.3))
    found = two_way.difference(first, second)
    assert 0.25 < found.low < 0.3 < found.high < 0.35
    assert two_way.interval(second).error > 4 * found.error, "rows alone vary by more"
    assert two_way.difference(first[:9], second).low is None, "nine seeds have no interval"


def test_the_mean_over_all_rows_is_held():
    """300 tables of 5 seeds and 50 rows: intervals over seeds alone hold it in a third of them."""
    stream = Key(2, ("held",)).generator()
    held = alone = 0
    for _ in range(300):
        values = 0.02 * stream.normal(size=(5, 1)) + 0.5 * stream.normal(size=(1, 50))
        values = values + 0.1 * stream.normal(size=(5, 50))
        found, seeds = two_way.interval(values), intervals.interval(values.mean(1).tolist())
        held += found.low <= 0 <= found.high
        alone += seeds.low <= 0 <= seeds.high
    assert 0.91 < held / 300 < 0.985
    assert alone / 300 < 0.6


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
