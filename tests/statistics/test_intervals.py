"""Intervals: Student's t against scipy and by hand, and comparisons paired by seed."""

import math

import pytest

from loquent.errors import BadSetting
from loquent.statistics.intervals import difference, interval, student


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 7, 10, 29, 30, 101])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_student_is_scipys(freedom, level):
    stats = pytest.importorskip("scipy.stats")
    assert student(freedom, level) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-9)
    assert student(freedom, level) != pytest.approx(stats.norm.ppf((1 + level) / 2), rel=1e-3), (
        "the normal distribution would be caught"
    )


def test_an_interval_by_hand():
    # mean 2, deviation 1, t(2) = 4.30265: 2 ± 4.30265 / sqrt(3)
    found = interval([1.0, 2.0, 3.0])
    assert (found.mean, found.deviation, found.n) == (2.0, 1.0, 3)
    assert found.high - 2 == pytest.approx(4.302652729696142 / math.sqrt(3))
    assert found.low == pytest.approx(4 - found.high)


def test_one_run_has_no_interval_and_none_no_mean():
    assert interval([2.5]).as_json() == {"mean": 2.5, "low": None, "high": None, "deviation": None, "n": 1}
    with pytest.raises(ValueError, match="nothing"):
        interval([])
    with pytest.raises(ValueError, match="at least 1"):
        student(0)


def test_a_difference_is_paired_by_seed():
    """Both vary by 10 over the seeds, their difference by 0.1: unpaired it would be lost."""
    low, high = {0: 0.0, 1: 10.0, 2: 20.0, 7: 99.0}, {0: 1.0, 1: 11.1, 2: 20.9}
    found = difference(low, high)
    assert (round(found.mean, 6), found.n) == (1.0, 3)
    assert 0 < found.low < found.high < 1.3
    assert difference(low, {5: 1.0}) is None


def test_equal_numbers_have_no_interval():
    """Their deviation says nothing about their spread, and an interval of no width would decide anything."""
    assert interval([0.1, 0.1]).as_json() == {
        "mean": 0.1,
        "low": None,
        "high": None,
        "deviation": 0.0,
        "n": 2,
    }
    equal = difference({0: 0.1, 1: 0.2, 2: 0.7}, {0: 0.4, 1: 0.5, 2: 1.0})  # 0.3 but for rounding
    assert (equal.low, equal.high) == (None, None)
    assert interval([0.1, 0.1001]).low is not None


@pytest.mark.parametrize("noise", [1e-16, 1e-12, 1e-8])
def test_noise_of_rounding_decides_nothing(noise):
    """The differences are of noise alone: they spread less than their mean, and 0 lies outside."""
    low = {0: 0.5, 1: 0.7, 2: 0.9}
    high = {seed: value + noise * (1 + seed / 10) for seed, value in low.items()}
    equal = difference(low, high)
    assert (equal.low, equal.high, equal.deviation) == (None, None, 0.0)
    larger = difference(low, {seed: value + 1e-4 * (1 + seed / 10) for seed, value in low.items()})
    assert larger.low > 0, "a difference beyond rounding is decided"


def test_numbers_that_vary_about_zero_have_an_interval():
    """Rounding is measured by the values that were subtracted, and numbers of their own by themselves."""
    assert interval([1e-16, 1.1e-16, 1.2e-16]).low is not None
    assert interval([1e-16, 1.1e-16, 1.2e-16], scale=0.5).low is None


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_a_typed_error(wrong):
    with pytest.raises(BadSetting, match=rf"number 1 of 3 is {wrong}.*finite"):
        interval([1.0, wrong, 2.0])
    with pytest.raises(BadSetting, match="finite"):
        difference({0: 1.0, 1: 2.0}, {0: wrong, 1: 2.0})
