"""Intervals: Student's t against scipy and by hand."""

import math

import numpy as np
import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics.intervals import interval, student, student_tail, third_moment


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


def test_the_long_side_reaches_further_by_hand():
    # [0, 0, 0, 0, 5]: mean 1, deviations -1 (four times) and 4; variance 20 / 4 = 5, error sqrt(5 / 5) = 1
    # third moment of the mean: (-4 + 64) / (5 * 4 * 3) = 1, so its skewness is 1
    # the upper end is 1 + 2 - 6 / 5 = 1.8 times as far as Student's
    numbers = [0.0, 0, 0, 0, 5]
    found = interval(numbers)
    assert third_moment(numbers) == pytest.approx(1)
    assert (found.low, found.high) == pytest.approx((1 - 2.7764451051977987, 1 + 1.8 * 2.7764451051977987))
    turned = interval([5 - number for number in numbers])
    assert (turned.low, turned.high) == pytest.approx((5 - found.high, 5 - found.low))
    three = interval([0.0, 0.0, 3.0])
    assert three.high - 1 == pytest.approx(1 - three.low), "three numbers show nothing of their skewness"


@pytest.mark.parametrize("draw", ["normal", "uniform", "exponential"])
@pytest.mark.parametrize("count", [3, 10])
def test_the_mean_is_held_from_normal_to_skewed_values(draw, count):
    """1,000 samples a case, whose share has an error of 0.7 points; Student's t holds 88% of skewed ones.

    With three values, whose skewness does not show, it is Student's.
    """
    stream = Key(count, ("coverage", draw)).generator()
    mean = {"normal": 0.0, "uniform": 0.5, "exponential": 1.0}[draw]
    held = students = 0
    for line in getattr(stream, draw)(size=(1000, count)).tolist():
        found = interval(line)
        held += found.low <= mean <= found.high
        half = student(count - 1) * found.deviation / math.sqrt(count)
        students += abs(found.mean - mean) <= half
    if draw == "exponential" and count == 3:
        assert held == students
    else:
        assert 0.915 <= held / 1000 <= 0.985
    if draw == "exponential":
        assert students / 1000 < 0.915, "before"


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
    assert interval([0.3, 0.1 + 0.2, 0.3]).low is None, "1e-16 apart"
    assert interval([0.1, 0.1001, 0.1]).low is not None


def test_two_numbers_have_no_interval():
    """They do not show on which side they are skewed."""
    found = interval([0.1, 0.3])
    assert (found.low, found.high, found.deviation) == (None, None, pytest.approx(0.1414, abs=1e-4))


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_a_typed_error(wrong):
    with pytest.raises(BadSetting, match=rf"number 1 of 3 is {wrong}.*finite"):
        interval([1.0, wrong, 2.0])


@pytest.mark.parametrize("wrong", [None, "2", 1j])
def test_what_is_no_number_is_a_typed_error(wrong):
    with pytest.raises(BadSetting, match=r"number 1 of 2 is .*finite"):
        interval([1.0, wrong])


def test_an_array_is_read_like_a_list():
    assert interval(np.array([0.0, 0.0, 3.0])) == interval([0.0, 0.0, 3.0])
    with pytest.raises(BadSetting, match="nothing"):
        interval(np.array([]))


@pytest.mark.parametrize("size", [1e-300, 1e-120, 1e150, 1e300])
def test_very_large_and_very_small_numbers_have_the_same_interval_in_their_size(size):
    found, one = interval([size, 2 * size, 5 * size]), interval([1.0, 2.0, 5.0])
    for name in ("mean", "low", "high", "deviation"):
        assert getattr(found, name) / size == pytest.approx(getattr(one, name))
