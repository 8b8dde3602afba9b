"""The test of falls: by hand, against an enumeration of all permutations, its error and its power."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from loquent.errors import BadSetting
from loquent.statistics.falls import complete_rows, find_falls

ROWS = [[5, 6, 2], [3, 3, 1], [4, 2, 3], [7, 8, 4]]  # 4 rows of 3 evaluations
SMALL = np.array(ROWS, float).T[:, :, None]


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def t_by_hand(rows):
    """The largest of two paired t, with the mean square of rows by evaluations."""
    rows = np.array(rows, float)
    means = rows.mean(0)
    rest = rows - rows.mean(1, keepdims=True) - means + rows.mean()
    return (means[:2].max() - means[2]) / math.sqrt(2 * (rest**2).sum() / 6 / 4)


def t_of_losses(losses):
    """The largest paired t of the differences to the end, each with the variance of its own."""
    means, errors = losses.mean(0), losses.std(0, ddof=1) / math.sqrt(len(losses))
    return max(mean / max(error, 1e-9) for mean, error in zip(means, errors, strict=True))


def test_three_evaluations_of_four_rows_by_hand():
    # means 4.75, 4.75 and 2.5
    [fall] = find_falls(SMALL, 20_000)
    assert fall.earlier == 0
    assert fall.difference == pytest.approx(2.25)
    assert fall.error == pytest.approx(np.std([3, 2, 1, 3], ddof=1) / 2)
    assert fall.t == pytest.approx(t_by_hand(ROWS), rel=1e-12)
    every = [t_by_hand(rows) for rows in itertools.product(*map(itertools.permutations, ROWS))]
    permuted = np.mean(np.array(every) >= fall.t - 1e-9)
    losses = np.array([[row[0] - row[2], row[1] - row[2]] for row in ROWS])
    signed = [
        t_of_losses(losses * np.array(signs)[:, None]) for signs in itertools.product([1, -1], repeat=4)
    ]
    share = max(permuted, np.mean(np.array(signed) >= t_of_losses(losses) - 1e-9))
    assert (len(every), share) == (6**4, 1 / 16)
    assert fall.p == pytest.approx(share, abs=3 * math.sqrt(share / 20_000))


def test_rows_that_keep_their_values_are_no_fall():
    """No mean changes, but rows stay where they moved: 2 of 64 fall half way through, which is chance."""
    values = np.repeat(noise(1, 64, 1), 9, 0)
    values[5:, :2] -= 1
    assert find_falls(values)[0].p > 0.2
    draw, alarms = np.random.default_rng(3), 0
    for _ in range(60):
        values = draw.normal(size=(9, 32, 4))
        for before, after in itertools.pairwise(values):
            after[:] = 0.9 * before + math.sqrt(1 - 0.81) * after
        alarms += min(fall.p for fall in find_falls(values, 99)) <= 0.05
    assert alarms <= 7, "5% of 60 and three deviations"


def test_two_evaluations_are_a_paired_t_test():
    values = noise(2, 30, 1)
    values[0] += 0.4
    [fall] = find_falls(values)
    other = stats.ttest_rel(values[0, :, 0], values[1, :, 0], alternative="greater")
    assert fall.t == pytest.approx(other.statistic)
    assert fall.t == pytest.approx(fall.difference / fall.error)
    assert fall.p == pytest.approx(other.pvalue, abs=0.02)


def test_the_mean_of_the_end_is_compared_too():
    """Of 12 evaluations the last 2, with weights 1/3 and 2/3: the last one alone is high by chance."""
    values = noise(12, 20, 1)
    values[0] += 1
    values[-1] += 0.3
    means = values.mean(1)[:, 0]
    rest = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
    error = math.sqrt((rest**2).sum() / (19 * 11) / 20)
    one = (means[:11].max() - means[11]) / error / math.sqrt(2)
    two = (means[:10].max() - means[10] / 3 - means[11] * 2 / 3) / error / math.sqrt(1 + 5 / 9)
    assert two > one
    assert find_falls(values)[0].t == pytest.approx(two)


def test_p_is_that_of_the_largest_t_of_all_witnesses():
    values = noise(6, 30, 3)
    values[-1, :, 1] -= 1.0
    alone, beside = find_falls(values[:, :, 1:2])[0], find_falls(values)
    assert alone.t == pytest.approx(beside[1].t)
    assert alone.p <= beside[1].p < 0.05 < min(beside[0].p, beside[2].p)
    assert beside == find_falls(values), "equal values have equal results"


@given(st.floats(1e-3, 1e3), st.floats(-100, 100), st.integers(0, 2**20))
def test_units_rows_and_other_levels_change_nothing(unit, level, seed):
    values = noise(5, 12, 2, seed=seed)
    levels = level * noise(1, 12, 1, seed=seed + 1)
    own, scaled = find_falls(values, 50), find_falls(unit * (values + levels), 50)
    assert [fall.t for fall in scaled] == pytest.approx([fall.t for fall in own], rel=1e-6)
    assert [fall.p for fall in scaled] == [fall.p for fall in own]
    order = np.random.default_rng(seed).permutation(12)
    shuffled = find_falls(values[:, order], 50)
    assert [fall.t for fall in shuffled] == pytest.approx([fall.t for fall in own])


def test_a_rise_is_no_fall():
    values = noise(6, 20, 1)
    values[-1] += 2
    assert find_falls(values)[0].p > 0.9
    assert find_falls(values)[0].difference < 0
    assert find_falls(-values)[0].p <= 0.001


@pytest.mark.parametrize("size", [1.0, 1e-300, 1e300])
def test_values_without_spread(size):
    values = np.full((5, 9, 3), 0.1) + np.arange(9)[:, None]
    values[-1, :, 1] -= 0.1  # each row by the same
    values[:, 0, 2] = [1, 1, 1, 1, 0]  # one event, in the last of 5 evaluations
    still, equal, rare = find_falls(size * values)
    assert (still.t, still.p, still.difference) == (0, 1, 0)
    assert (equal.t, equal.p) == (math.inf, pytest.approx(1 / 2**9, abs=0.002))
    assert rare.p > 0.05


def test_a_row_without_a_number_is_left_out_for_that_witness():
    values = noise(4, 20, 2)
    values[1, 3, 0] = values[3, 7, 0] = np.nan
    assert complete_rows(values).sum(0).tolist() == [18, 20]
    rest = np.delete(values, [3, 7], axis=1)
    own, other = find_falls(values)[0], find_falls(rest)[0]
    assert (own.earlier, own.difference, own.error) == (other.earlier, other.difference, other.error)
    assert own.t == pytest.approx(other.t)


@pytest.mark.parametrize("shape", [(5, 4), (1, 5, 2), (5, 1, 2), (5, 5, 0), (0, 0, 0)])
def test_too_small_tables_are_refused(shape):
    with pytest.raises(BadSetting, match=r"at least 2 evaluations|fewer than 2 rows"):
        find_falls(np.zeros(shape))


def test_p_is_small_as_seldom_as_it_says():
    """400 histories of rows with levels of their own, and three deviations of a share."""
    draw = np.random.default_rng(1)
    ps = []
    for _ in range(400):
        values = draw.normal(size=(6, 16, 2)) + 3 * draw.normal(size=(1, 16, 2))
        ps.append(min(fall.p for fall in find_falls(values, 199)))
    for level in (0.05, 0.2, 0.5):
        reach = 3 * math.sqrt(level * (1 - level) / 400)
        assert level / 2 - reach <= np.mean(np.array(ps) <= level) <= level + reach
