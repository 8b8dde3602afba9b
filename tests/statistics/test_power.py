"""Power by scipy's noncentral t and by simulation; the runs that a difference takes."""

import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics import power
from loquent.statistics.comparing import between


@pytest.mark.parametrize(("shift", "freedom", "level"), [(3.0, 4, 0.95), (5.0, 4, 0.997), (2.8, 58, 0.95)])
def test_power_is_scipys(shift, freedom, level):
    stats = pytest.importorskip("scipy.stats")
    bound = stats.t.ppf((1 + level) / 2, freedom)
    assert power.power(shift, freedom, level) == pytest.approx(
        1 - stats.nct.cdf(bound, freedom, shift), abs=1e-6
    )
    assert power.power(0.0, freedom, level) == pytest.approx((1 - level) / 2, abs=1e-6)


@pytest.mark.parametrize(("runs", "tests"), [(3, 1), (5, 6), (10, 6)])
def test_the_smallest_difference_is_seen_four_times_in_five(runs, tests):
    """1,000 pairs of cells by Welch's test; the standard error of the share is 0.013."""
    shift, level = power.smallest_difference(1.0, runs, tests), 0.05 / tests
    seen = 0
    for cells in Key(runs, ("power",)).generator().normal(size=(1000, 2, runs)):
        low, high = (dict(enumerate(cell.tolist())) for cell in (cells[0], cells[1] + shift))
        seen += between(low, high).above <= level / 2
    assert 0.76 < seen / 1000 < 0.84
    pooled = power.smallest_shift(2 * runs - 2, 1 - level) * (2 / runs) ** 0.5
    assert shift > (1.1 if runs == 3 else 1.0) * pooled, "the t test that knows the deviations to be equal"


def test_smallest_differences_grow_with_tests_and_deviations():
    shift = power.smallest_difference(1.0, 5)
    assert power.smallest_difference(1.0, 5, 10) > shift, "more tests, larger differences"
    assert power.smallest_difference(2.0, 5) == pytest.approx(2 * shift)


def test_the_runs_of_a_difference_are_the_fewest_that_see_it():
    # statsmodels' TTestIndPower().solve_power(effect_size=1, power=.8) gives 16.71 without stretching
    assert power.runs_for(1.0, 1.0) == 19
    assert power.smallest_difference(1.0, 19) <= 1.0 < power.smallest_difference(1.0, 18)
    assert power.runs_for(1.0, 1.0, 10) > 19
    assert power.runs_for(0.001, 1.0) is None


def test_what_has_no_answer_is_refused():
    with pytest.raises(BadSetting, match="runs = 1"):
        power.smallest_difference(1.0, 1)
    with pytest.raises(BadSetting, match="difference = 0"):
        power.runs_for(0.0, 1.0)
