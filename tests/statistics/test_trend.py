"""The evidence of a fall and of a rise: p-values against scipy and by hand, and errors on walks and noise."""

import random

import pytest
from scipy import stats

from loquent.statistics import trend

STEADY = [0.9, 0.8, 0.65, 0.6, 0.45, 0.3]  # losses 0.1 0.15 0.05 0.15 0.15


@pytest.mark.parametrize("freedom", [1, 1.54, 2.25, 3, 5.6, 12, 30])
@pytest.mark.parametrize("t", [-3, -0.1, 0, 0.01, 0.5, 1, 2, 5, 20, 200])
def test_the_tail_of_student_s_t(t, freedom):
    assert trend.tail(t, freedom) == pytest.approx(stats.t.sf(t, freedom), rel=1e-12)


def test_an_even_fall_is_a_t_test_of_its_losses():
    losses = [0.1, 0.15, 0.05, 0.15, 0.15]
    assert trend._even(STEADY) == pytest.approx(stats.ttest_1samp(losses, 0, alternative="greater").pvalue)
    assert trend.fall(STEADY, STEADY) == pytest.approx(trend._even(STEADY) / 0.4)
    assert trend.fall(STEADY[::-1], STEADY) == 1


def test_a_smooth_fall_by_hand():
    # the largest value is the third, 0.7; losses -0.1 -0.1 0.1 0.2 0.2; their changes 0 0.2 0.1 0 -> 0.05 / 4
    values = [0.5, 0.6, 0.7, 0.6, 0.4, 0.2]
    step = 0.05 / 4 / 2
    t = 0.5 / (5 * step) ** 0.5
    assert trend._smooth(values) == pytest.approx(2 * stats.t.sf(t, 64 / 22))


def test_a_fall_at_once_is_an_outlier_among_the_losses():
    # losses 0.6 | 0.01 -0.02 0.03 0.02: the others have mean 0.01 and deviation sqrt(0.0014 / 3)
    values = [0.9, 0.3, 0.29, 0.31, 0.28, 0.26]
    t = 0.59 / ((0.0014 / 3) ** 0.5 * (1 + 1 / 4) ** 0.5)
    assert trend.at_once(values) == pytest.approx(5 * stats.t.sf(t, 3))
    assert trend.at_once([0.8, 0.2, 0.2, 0.2, 0.2]) == 0
    assert trend.at_once([0.2] * 5) == 1
    assert trend.at_once([0.2, 0.8, 0.8, 0.8, 0.8]) == 1


def test_a_loss_at_once_counts_where_the_return_rises_at_once_in_the_same_step():
    lost = [0.8, 0.2, 0.2, 0.2, 0.2]
    assert trend.fall(lost, [0.1, 0.9, 0.9, 0.9, 0.9]) == 0
    assert trend.fall(lost, [0.1, 0.1, 0.9, 0.9, 0.9]) > 0.4, "another step"
    assert trend.fall(lost, [0.1, 0.4, 0.6, 0.7, 0.9]) > 0.4, "the return rises, but not at once"
    # the return: rises 0.6 | -0.01 0.02 -0.03 -0.02, as the values of the test above turned over
    returns = [0.1, 0.7, 0.71, 0.69, 0.72, 0.74]
    assert trend.fall([0.8] + [0.2] * 5, returns) == pytest.approx(
        trend.at_once([1 - value for value in returns]) / 0.2
    )


def test_a_rare_event_is_no_loss():
    rare = [0.0, 0.0, 0.0, 0.0, -1 / 48]
    assert trend.at_once(rare) == 0
    assert trend.fall(rare, [0.3, 0.42, 0.55, 0.68, 0.8]) > 0.4


def test_blocks_of_many_evaluations_and_the_covariance_of_a_walk_s_blocks():
    assert trend._blocks(list(range(15))) == list(range(15))
    assert trend._blocks(list(range(16))) == [0.5 + 2 * i for i in range(8)]
    assert len(trend._blocks(list(range(37)))) == 8
    # blocks of 2 of a walk: a loss is s_1 / 2 + s_2 + s_3 / 2; neighbours share a step of weight 1/2 in both
    assert trend._walk([0.0] * 16) == pytest.approx((1.5, 0.25))
    assert trend._walk([0.0] * 15) == (1, 0)


def test_a_rise_beyond_the_noise_of_evaluations_by_hand():
    # bends 0.1 -0.2 0.1 0 -> mean square 0.015, variance 0.0025; 36 / 70 * 4 degrees of freedom
    values = [0.1, 0.2, 0.4, 0.4, 0.5, 0.6]
    t = 0.4 / (0.0025 * (1 / 2 + 1 / 2)) ** 0.5
    assert trend.gain(values, 0, 2, 2) == pytest.approx(stats.t.sf(t, 36 / 70 * 4))
    assert trend.rise(values, 0, 2, 2) == pytest.approx(trend.gain(values, 0, 2, 2) / 0.8)
    assert trend.rise([0.1] + [0.9] * 4, 0, 1, 2) == 0
    assert trend.rise(values[::-1], 0, 2, 2) == 1


def walk(draw, n):
    values = [0.5]
    for _ in range(n - 1):
        values.append(values[-1] + draw.gauss(0, 0.05))
    return values


def noise(draw, n):
    return [0.5 + draw.gauss(0, 0.05) for _ in range(n)]


@pytest.mark.parametrize("n", [5, 10, 20])
@pytest.mark.parametrize("history", [walk, noise])
def test_no_shape_of_a_fall_is_seen_too_often(history, n):
    """At 5%: 1,000 histories, three binomial deviations above 5%."""
    draw = random.Random(n)
    histories = [history(draw, n) for _ in range(1000)]
    returns = [history(draw, n) for _ in range(1000)]
    for p in (trend._even, trend._smooth, trend.at_once):
        assert sum(p(values) <= 0.05 for values in histories) <= 71, p
    assert sum(trend.fall(*pair) <= 0.05 for pair in zip(histories, returns, strict=True)) <= 71


def test_a_rise_is_seen_in_noise_at_most_5_times_in_100():
    for n in (5, 10, 20):
        draw, window = random.Random(n), max(2, n // 4)
        histories = [noise(draw, n) for _ in range(1000)]
        assert sum(trend.rise(values, 0, window, window) <= 0.05 for values in histories) <= 71
