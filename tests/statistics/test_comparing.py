"""Differences of two means by scipy and by hand; rounding; orders as one test; Holm's correction."""

from itertools import pairwise

import numpy as np
import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics import two_way
from loquent.statistics.comparing import between, fisher, holm, order
from loquent.statistics.intervals import interval, student, student_tail

LOW, HIGH = {0: 1.0, 1: 2.0, 2: 4.0}, {0: 3.0, 1: 3.5, 2: 9.0, 3: 7.0}


def test_a_difference_is_welchs_by_scipy():
    """Three runs show nothing of their skewness, so test and interval are Welch's."""
    stats = pytest.importorskip("scipy.stats")
    found = between(LOW, HIGH)
    theirs = stats.ttest_ind(list(HIGH.values()), list(LOW.values()), equal_var=False)
    assert 2 * min(found.above, 1 - found.above) == pytest.approx(theirs.pvalue, rel=1e-9)
    assert found.freedom == pytest.approx(theirs.df)
    ends = theirs.confidence_interval(0.95)
    assert (found.low, found.high, found.n) == (pytest.approx(ends.low), pytest.approx(ends.high), 3)
    assert between({0: 1.0, 1: 2.0}, HIGH).low is None, "two runs have a test and no interval"
    pooled = stats.ttest_ind(list(HIGH.values()), list(LOW.values()))
    assert found.freedom != pytest.approx(pooled.df), "equal variances would be caught"


@pytest.mark.parametrize(("successes", "sizes"), [((1, 9), (11, 12)), ((9, 1), (12, 11)), ((0, 3), (3, 3))])
def test_fishers_test_is_scipys(successes, sizes):
    """One of 11 against 9 of 12: the margins are 23 rows and 10 successes."""
    stats = pytest.importorskip("scipy.stats")
    table = [[successes[1], sizes[1] - successes[1]], [successes[0], sizes[0] - successes[0]]]
    found = fisher(successes, sizes)
    greater, less = (stats.fisher_exact(table, alternative=side).pvalue for side in ("greater", "less"))
    tail = greater if found.mean > 0 else less
    assert found.tail == pytest.approx(tail, rel=1e-12)
    assert found.p == pytest.approx(2 * tail, rel=1e-9)


def test_skewness_stretches_test_and_interval_alike():
    stats = pytest.importorskip("scipy.stats")
    even = {seed: float(value) for seed, value in enumerate((-3, -2, -1, -1, 0, 0, 1, 1, 2, 3))}
    higher = {seed: value / 2 + 1 for seed, value in even.items()}
    found = between(even, higher)
    theirs = stats.ttest_ind(list(higher.values()), list(even.values()), equal_var=False)
    interval = theirs.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high)), "nothing is skewed"
    # deviations -1 (nine times) and 9: variance 10, squared error 1, third moment of the mean 720 / 720
    outlier = {seed: 10.0 if seed == 9 else 0.0 for seed in range(10)}
    found = between(even, outlier)
    spread = 30 / 9 / 10
    error, skewness = (1 + spread) ** 0.5, 1 / (1 + spread) ** 1.5
    assert found.error == pytest.approx(error)
    assert found.mean - found.low == pytest.approx(student(found.freedom) * error)
    assert found.high - found.mean == pytest.approx(
        student(found.freedom) * error * (1 + (2 - 6 / 10) * skewness)
    )
    welch = stats.ttest_ind(list(outlier.values()), list(even.values()), equal_var=False).pvalue / 2
    assert found.above == pytest.approx(welch), "0 lies on the short side"
    assert between(outlier, even).above == pytest.approx(1 - welch)
    falling = between(even, {seed: value - 3 for seed, value in outlier.items()})
    stretched = abs(falling.mean) / (1 + (2 - 6 / 10) * skewness)
    assert 1 - falling.above == pytest.approx(student_tail(stretched / error, falling.freedom) / 2)


def test_paired_differences_have_the_interval_of_a_mean():
    low, high = {0: 0.0, 1: 1.0, 2: 5.0, 3: 2.0}, {0: 1.0, 1: 2.5, 2: 9.0, 3: 2.5}
    found, alone = between(low, high, paired=True), interval([1.0, 1.5, 4.0, 0.5])
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high))


def test_pairing_is_by_seed_and_on_request():
    """Both vary by 10 over the seeds, their difference by 0.1: unpaired it is lost."""
    low, high = {0: 0.0, 1: 10.0, 2: 20.0, 7: 99.0}, {0: 1.0, 1: 11.1, 2: 20.9}
    found = between(low, high, paired=True)
    assert (round(found.mean, 6), found.n, found.freedom) == (1.0, 3, 2)
    assert 0 < found.low < found.high < 1.3
    assert between(low, {5: 1.0}, paired=True) is None
    assert between(low, high).above < 0.9, "unpaired it is lost"
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
    assert larger.above < 0.05, "a difference beyond rounding is decided"


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


@pytest.mark.parametrize("size", [1e-300, 1e-120, 1e150, 1e300])
def test_differences_of_very_large_and_very_small_values(size):
    def found(size):
        first = {seed: size * value for seed, value in enumerate((1, 2, 5))}
        second = {seed: size * value for seed, value in enumerate((4, 6, 9))}
        yield between(first, second)
        yield between(first, second, paired=True)
        rows = np.array([[1.0, 2, 5, 3], [2, 2, 4, 4]]) * size
        yield two_way.difference(rows, 2 * rows)

    for large, one in zip(found(size), found(1.0), strict=True):
        assert large.above == pytest.approx(one.above)
        assert (large.mean / size, large.error / size) == pytest.approx((one.mean, one.error))
