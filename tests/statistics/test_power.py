"""Power by scipy's noncentral t and by simulation; the runs that a difference takes."""

import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics import power, two_way
from loquent.statistics.comparing import between


@pytest.mark.parametrize(("shift", "level"), [(3.0, 0.95), (10.0, 0.95), (20.0, 0.99)])
def test_power_is_scipys(shift, level):
    """Of three pairs, whose test is Student's: three values show nothing of their skewness."""
    stats = pytest.importorskip("scipy.stats")
    bound = stats.t.ppf((1 + level) / 2, 2)
    three = power.Errors(1.0, 3, samples=1)
    assert power.power(shift, three, level) == pytest.approx(1 - stats.nct.cdf(bound, 2, shift), abs=1e-3)
    many = power.Errors(1.0, 59, samples=1)
    bound = stats.t.ppf(0.975, 58)
    assert 0 < 1 - stats.nct.cdf(bound, 58, 2.8) - power.power(2.8, many) < 0.03, "a little for skewness"


@pytest.mark.parametrize(("runs", "tests"), [(3, 1), (5, 6), (10, 6)])
def test_the_smallest_difference_is_seen_four_times_in_five(runs, tests):
    """1,000 pairs of cells by Welch's test; the standard error of the share is 0.013."""
    shift, level = power.smallest(power.of_seeds(1.0, runs), tests), 0.05 / tests
    seen = 0
    for cells in Key(runs, ("power",)).generator().normal(size=(1000, 2, runs)):
        low, high = (dict(enumerate(cell.tolist())) for cell in (cells[0], cells[1] + shift))
        seen += between(low, high).above <= level / 2
    assert 0.76 < seen / 1000 < 0.84


@pytest.mark.parametrize(("seeds", "row", "rest"), [(0.1, 0.9, 0.6), (0.4, 0.9, 1.8), (1.0, 0.3, 0.5)])
def test_the_smallest_difference_over_seeds_and_rows_is_seen_four_times_in_five(seeds, row, rest):
    """1,000 pairs of cells with 5 seeds and 30 rows: rows, both or seeds vary most."""
    errors = power.Errors(
        seeds=(2 * (seeds**2 + rest**2 / 30) / 5) ** 0.5, runs=5,
        rows=(2 * (row**2 + rest**2 / 5) / 30) ** 0.5, rest=(2 * rest**2 / 150) ** 0.5, played=30,
    )  # fmt: skip
    shift, seen = power.smallest(errors, 4), 0
    stream = Key(5, ("power", "rows", str(seeds))).generator()
    for _ in range(1000):
        low, high = (
            seeds * stream.normal(size=(2, 5, 1))
            + row * stream.normal(size=(2, 1, 30))
            + rest * (stream.normal(size=(2, 5, 30)))
        )
        seen += two_way.difference(low, high + shift).above <= 0.05 / 4 / 2
    assert 0.76 < seen / 1000 < 0.84
    assert shift > power.smallest(power.Errors(errors.seeds, 5), 4), "rows hide differences"


def test_smallest_differences_grow_with_tests_and_deviations():
    shift = power.smallest(power.of_seeds(1.0, 5))
    assert power.smallest(power.of_seeds(1.0, 5), 10) > shift, "more tests, larger differences"
    assert power.smallest(power.of_seeds(2.0, 5)) == pytest.approx(2 * shift, rel=1e-3)


def test_the_runs_of_a_difference_are_the_fewest_that_see_it():
    # statsmodels' TTestIndPower().solve_power(effect_size=1, power=.8) gives 16.71 without stretching
    one = power.of_seeds(1.0, 2)
    assert power.runs_for(1.0, one) == 18
    assert power.smallest(one.with_runs(18)) <= 1.0 < power.smallest(one.with_runs(17))
    assert power.runs_for(1.0, one, 10) > 18
    assert power.runs_for(0.001, one) is None


def test_no_number_of_runs_sees_what_the_rows_hide():
    """Rows leave an error of 0.5 whatever the runs, so 1.5 is seen and 1 is not."""
    errors = power.Errors(1.0, 3, rows=0.5, played=200)
    assert 3 < power.runs_for(1.5, errors) < 100
    assert power.runs_for(1.0, errors) is None
    assert errors.with_runs(300).total == pytest.approx(0.51, abs=1e-3)


def test_what_has_no_answer_is_refused():
    with pytest.raises(BadSetting, match="runs = 1"):
        power.of_seeds(1.0, 1)
    with pytest.raises(BadSetting, match="difference = 0"):
        power.runs_for(0.0, power.of_seeds(1.0, 2))
