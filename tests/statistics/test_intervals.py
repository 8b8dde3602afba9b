"""Intervals: Student's t against scipy and by hand."""

import math

import pytest

from loquent.errors import BadSetting
from loquent.statistics.intervals import interval, student, student_tail


@pytest.mark.parametrize("freedom", [1, 1.3, 2, 2.5, 3, 4, 5, 7, 10, 29, 30, 101])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_student_is_scipys(freedom, level):
    stats = pytest.importorskip("scipy.stats")
    assert student(freedom, level) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-9)
    assert student(freedom, level) != pytest.approx(stats.norm.ppf((1 + level) / 2), rel=1e-3), (
        "the normal distribution would be caught"
    )


@pytest.mark.parametrize("freedom", [1, 2.7, 30])
@pytest.mark.parametrize("t", [0.0, 0.3, 2.0, 40.0])
def test_the_tail_is_scipys(freedom, t):
    stats = pytest.importorskip("scipy.stats")
    assert student_tail(t, freedom) == pytest.approx(2 * stats.t.sf(t, freedom), rel=1e-9)


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


def test_equal_numbers_have_no_interval():
    """Their deviation says nothing about their spread, and an interval of no width would decide anything."""
    assert interval([0.1, 0.1]).as_json() == {
        "mean": 0.1,
        "low": None,
        "high": None,
        "deviation": 0.0,
        "n": 2,
    }
    assert interval([0.1, 0.1001]).low is not None


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_a_typed_error(wrong):
    with pytest.raises(BadSetting, match=rf"number 1 of 3 is {wrong}.*finite"):
        interval([1.0, wrong, 2.0])
