"""Intervals over seeds and rows: by hand, and that they hold the mean over all rows."""

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
    assert found.high - 2 == pytest.approx(12.7062, abs=1e-4)


def test_rows_alone_are_those_of_their_mean():
    """Without an effect of the seed, the interval is Student's over the rows."""
    rows = Key(0, ("rows",)).generator().normal(size=40)
    found, alone = two_way.interval(np.stack([rows, rows])), intervals.interval(rows.tolist())
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


def test_a_difference_pairs_the_rows():
    """Rows vary by 1 in both cells alike, so they leave the difference of 0.3 as it is."""
    stream = Key(1, ("difference",)).generator()
    rows = stream.normal(size=(1, 100))
    first, second = (rows + 0.1 * stream.normal(size=(3, 100)) + shift for shift in (0.0, 0.3))
    found = two_way.difference(first, second)
    assert 0.25 < found.low < 0.3 < found.high < 0.35
    unpaired = two_way.interval(second)
    assert unpaired.high - unpaired.low > 4 * (found.high - found.low), "rows alone vary by more"


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
