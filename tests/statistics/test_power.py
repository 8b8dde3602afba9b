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


def test_the_smallest_difference_is_seen_four_times_in_five():
    """600 pairs of five runs; the standard error of the share is 0.016, and Welch loses a little."""
    shift = power.smallest_difference(1.0, 5)
    seen = 0
    for number in range(600):
        cells = Key(number, ("power",)).generator().normal(size=(2, 5))
        low, high = (dict(enumerate(cell.tolist())) for cell in (cells[0], cells[1] + shift))
        seen += between(low, high).above <= 0.025
    assert 0.73 < seen / 600 < 0.85
    assert power.smallest_difference(1.0, 5, 10) > shift, "more tests, larger differences"
    assert power.smallest_difference(2.0, 5) == pytest.approx(2 * shift)


def test_the_runs_of_a_difference_are_the_fewest_that_see_it():
    # statsmodels' TTestIndPower().solve_power(effect_size=1, power=.8) gives 16.71
    assert power.runs_for(1.0, 1.0) == 17
    assert power.smallest_difference(1.0, 17) <= 1.0 < power.smallest_difference(1.0, 16)
    assert power.runs_for(1.0, 1.0, 10) > 17
    assert power.runs_for(0.001, 1.0) is None


def test_what_has_no_answer_is_refused():
    with pytest.raises(BadSetting, match="runs = 1"):
        power.smallest_difference(1.0, 1)
    with pytest.raises(BadSetting, match="difference = 0"):
        power.runs_for(0.0, 1.0)
