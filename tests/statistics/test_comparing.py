"""Differences of two means by scipy and by hand; rounding; orders as one test; Holm's correction."""

from itertools import pairwise

import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics.comparing import between, holm, order

LOW, HIGH = {0: 1.0, 1: 2.0, 2: 4.0}, {0: 3.0, 1: 3.5, 2: 9.0, 3: 7.0}


def test_a_difference_is_welchs_by_scipy():
    stats = pytest.importorskip("scipy.stats")
    found = between(LOW, HIGH)
    theirs = stats.ttest_ind(list(HIGH.values()), list(LOW.values()), equal_var=False)
    assert 2 * min(found.above, 1 - found.above) == pytest.approx(theirs.pvalue, rel=1e-9)
    assert found.freedom == pytest.approx(theirs.df)
    interval = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.n == 3
    pooled = stats.ttest_ind(list(HIGH.values()), list(LOW.values()))
    assert found.freedom != pytest.approx(pooled.df), "equal variances would be caught"


def test_pairing_is_by_seed_and_on_request():
    """Both vary by 10 over the seeds, their difference by 0.1: unpaired it is lost."""
    low, high = {0: 0.0, 1: 10.0, 2: 20.0, 7: 99.0}, {0: 1.0, 1: 11.1, 2: 20.9}
    found = between(low, high, paired=True)
    assert (round(found.mean, 6), found.n, found.freedom) == (1.0, 3, 2)
    assert 0 < found.low < found.high < 1.3
    assert between(low, {5: 1.0}, paired=True) is None
    assert between(low, high).low < 0
    assert between({}, high) is None


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("noise", [1e-16, 1e-12, 1e-8])
def test_noise_of_rounding_decides_nothing(noise, paired):
    """The differences are of noise alone: they spread less than their mean, and 0 lies outside."""
    low = {0: 0.5, 1: 0.7, 2: 0.9} if paired else {0: 0.5, 1: 0.5, 2: 0.5}
    high = {seed: value + noise * (1 + seed / 10) for seed, value in low.items()}
    equal = between(low, high, paired=paired)
    assert (equal.low, equal.high, equal.above) == (None, None, None)
    larger = between(
        low, {seed: value + 1e-4 * (1 + seed / 10) for seed, value in low.items()}, paired=paired
    )
    assert larger.low > 0, "a difference beyond rounding is decided"


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(BadSetting, match="finite"):
        between({0: 1.0, 1: 2.0}, {0: float("nan"), 1: 2.0})


def test_an_order_is_one_test_by_hand():
    # rises: the least certain step, 2 * 0.02; falls: Bonferroni over 3 steps, 2 * 3 * min(1 - p)
    rising = order([0.001, 0.02, 0.01])
    assert (rising.p, rising.rises) == (pytest.approx(0.04), True)
    falling = order([0.001, 0.02, 0.999])
    assert (falling.p, falling.rises) == (pytest.approx(2 * 3 * 0.001), False)
    assert order([0.5, 0.3]).p == 1.0
    assert order([0.01]).p == pytest.approx(0.02), "one step is the two-sided test"


def test_holm_by_hand_and_by_statsmodels():
    # sorted: 0.005 * 4, 0.01 * 3, 0.03 * 2, 0.04 * 1, each at least as large as the one before
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_orders_of_equal_cells_are_decided_at_most_five_times_in_a_hundred():
    """1,000 orders of four cells with three seeds: 0.05 is a bound; single steps alone would decide 0.12."""
    decided = alone = 0
    for number in range(1000):
        cells = Key(number, ("order",)).generator().normal(size=(4, 3))
        values = [dict(enumerate(cell.tolist())) for cell in cells]
        above = [between(low, high).above for low, high in pairwise(values)]
        decided += order(above).p <= 0.05
        alone += min(min(p, 1 - p) for p in above) * 2 <= 0.05
    assert decided <= 50
    assert alone > 80, "it can fail"
