"""The interquartile mean and the probability of improvement, by hand and by scipy."""

import pytest

from loquent.errors import BadSetting
from loquent.statistics.across_tasks import interquartile_mean, probability_of_improvement


def test_the_interquartile_mean_by_hand():
    # eight values: two are left out on each side, (2 + 3 + 4 + 7) / 4
    assert interquartile_mean([100.0, 3.0, 1.0, 2.0, 7.0, 4.0, -50.0, 9.0]) == 4.0
    assert interquartile_mean([1.0, 2.0, 6.0]) == 3.0, "of three values none is left out"
    assert interquartile_mean([5.0]) == 5.0


@pytest.mark.parametrize("count", [1, 4, 7, 15, 30])
def test_the_interquartile_mean_is_scipys(count):
    stats = pytest.importorskip("scipy.stats")
    values = [(17.0 * i**2) % 23 for i in range(count)]
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25), rel=1e-12)


def test_the_probability_of_improvement_by_hand():
    # first task: 3 > 1, 3 > 2, 1 = 1, 1 < 2: 2.5 of 4; second: 0 of 1; mean 0.3125
    assert probability_of_improvement([[3.0, 1.0], [0.0]], [[1.0, 2.0], [5.0]]) == 0.3125
    assert probability_of_improvement([[1.0, 2.0], [5.0]], [[3.0, 1.0], [0.0]]) == 0.6875, "the complement"
    assert probability_of_improvement([[1.0], [0.0]], [[1.0], [0.0]]) == 0.5


def test_a_task_is_as_heavy_as_another_whatever_its_runs():
    assert probability_of_improvement([[1.0] * 9, [0.0]], [[0.0] * 9, [1.0]]) == 0.5


def test_what_has_no_value_is_refused():
    for wrong in ([], [float("nan")]):
        with pytest.raises(BadSetting):
            interquartile_mean(wrong)
        with pytest.raises(BadSetting):
            probability_of_improvement([wrong], [[1.0]])
    with pytest.raises(BadSetting):
        probability_of_improvement([], [])
    with pytest.raises(ValueError, match="longer"):
        probability_of_improvement([[1.0]], [[1.0], [2.0]])
