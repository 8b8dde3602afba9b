"""A rise beyond the noise of a series: by hand, and its errors on noise."""

import random

import pytest
from scipy import stats

from loquent.statistics import trend


def test_a_rise_beyond_the_noise_of_a_series_by_hand():
    # bends 0.1 -0.2 0.1 0 -> mean square 0.015, variance 0.0025; 36 / 70 * 4 degrees of freedom
    values = [0.1, 0.2, 0.4, 0.4, 0.5, 0.6]
    t = 0.4 / (0.0025 * (1 / 2 + 1 / 2)) ** 0.5
    assert trend.gain(values, 0, 2, 2) == pytest.approx(stats.t.sf(t, 36 / 70 * 4), rel=1e-12)
    assert trend.gain(values[::-1], 0, 2, 2) == 1
    assert trend.gain([0.1, 0.2, 0.3, 0.4], 0, 1, 1) == pytest.approx(0, abs=1e-12)
    assert trend.gain([0.0, 1.0, 2.0, 3.0], 0, 1, 1) == 0, "a line has no noise"


@pytest.mark.parametrize("n", [5, 10, 20])
def test_a_rise_is_seen_in_noise_at_most_5_times_in_100(n):
    draw, window = random.Random(n), max(2, n // 4)
    series = [[0.5 + draw.gauss(0, 0.05) for _ in range(n)] for _ in range(1000)]
    assert sum(trend.gain(values, 0, window, window) <= 0.05 for values in series) <= 71
