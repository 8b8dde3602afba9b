"""Tests within items against scipy, statsmodels and pingouin, and their power where ANOVA has none."""

import math

import numpy as np
import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics.of_groups import anova
from loquent.statistics.repeated_measures import compare_systems, friedman, within

stats = pytest.importorskip("scipy.stats")

TABLE = np.array(
    [[5, 3, 2], [4, 4, 1], [3, 2, 2], [5, 4, 4], [2, 1, 1], [4, 2, 3], [3, 3, 1], [5, 5, 2]], float
)
VALUES = {name: dict(enumerate(TABLE[:, i].tolist())) for i, name in enumerate("abc")}


def test_the_f_of_repeated_measures_is_that_of_statsmodels_and_pingouin():
    """AnovaRM 0.15: F(2, 14) = 10.657658. pingouin.rm_anova: epsilon .645958, corrected p .007203.

    statsmodels' mixed model with a random intercept (REML): Wald's chi-squared 21.315277 = 2 F.
    """
    found = within(TABLE)
    assert (found.between, found.within) == (2, 14)
    assert found.f == pytest.approx(10.657658, abs=1e-6)
    assert 2 * found.f == pytest.approx(21.315277, rel=1e-5)  # its optimiser stops there
    assert found.epsilon == pytest.approx(0.645958, abs=1e-6)
    assert found.p == pytest.approx(0.007203, abs=1e-6)
    raters = TABLE[:, :, None] + np.array([-0.5, 0, 0.5])  # F of all ratings: systems by systems x items
    cells = raters.mean(2)
    assert within(cells).f == pytest.approx(found.f)


def test_two_systems_have_the_paired_t_test():
    found = within(TABLE[:, :2])
    theirs = stats.ttest_rel(TABLE[:, 0], TABLE[:, 1])
    assert (found.f, found.epsilon) == (pytest.approx(theirs.statistic**2), pytest.approx(1))
    assert found.p == pytest.approx(theirs.pvalue)


def test_friedman_is_scipy_s_with_ties_and_the_sign_test_of_two_systems():
    found, theirs = friedman(TABLE), stats.friedmanchisquare(*TABLE.T)
    assert (found.chi_squared, found.p) == (pytest.approx(theirs.statistic), pytest.approx(theirs.pvalue))
    assert found.chi_squared == pytest.approx(11.307692307692308)
    # the first is better in 5 items, the second in none, 3 are ties: (5 - 0)^2 / (5 + 0)
    assert friedman(TABLE[:, :2]).chi_squared == pytest.approx(5)


def test_pairs_have_bonferroni_s_t_and_holm_s_signed_ranks():
    """By scipy 1.16: t tests .020937570 and .001062715, .103551710; signed ranks .0625, .0078125, .1875."""
    ab, ac, bc = compare_systems(VALUES).pairs
    assert [pair.p for pair in (ab, ac, bc)] == pytest.approx(
        [3 * 0.0209375702, 3 * 0.0010627148, 3 * 0.1035517103], abs=1e-8
    )
    assert [pair.rank_p for pair in (ab, ac, bc)] == pytest.approx([2 * 0.0625, 3 * 0.0078125, 0.1875])
    assert (ab.low, ab.high) == (pytest.approx(-1.7977793638), pytest.approx(0.0477793638))
    assert (ac.items, ac.difference) == (8, -1.875)


def test_items_that_a_system_lacks_are_left_out_and_counted():
    lacking = VALUES | {"c": {item: VALUES["c"][item] for item in range(5)}}
    found = compare_systems(lacking)
    assert (found.items, found.left_out) == (5, 3)
    assert found.within == within(TABLE[:5])
    assert [pair.items for pair in found.pairs] == [8, 5, 5]  # a pair takes all items of both
    assert compare_systems({"a": {1: 1.0, 2: 2.0}, "b": {2: 1.0, 3: 2.0}}) is None
    assert compare_systems({"a": {1: 1.0, 2: 2.0}}) is None


def test_degenerate_tables_and_numbers_of_any_size():
    flat = np.tile(TABLE[:, :1], (1, 3))
    assert (within(flat), friedman(flat)) == (None, None)
    shifted = flat + np.arange(3)
    assert (within(shifted).f, within(shifted).p) == (math.inf, None)
    # two items and a difference of 1 in both: nothing shows how differences vary
    (pair,) = compare_systems({"a": {1: 3.0, 2: 4.0}, "b": {1: 2.0, 2: 3.0}}).pairs
    assert (pair.difference, pair.low, pair.high, pair.p, pair.rank_p) == (-1, None, None, None, 0.5)
    same = compare_systems({name: dict(enumerate(flat[:, 0].tolist())) for name in "ab"}).pairs[0]
    assert (same.difference, same.p, same.rank_p) == (0, 1, 1)
    assert within(TABLE * 2.0**900) == within(TABLE)
    with pytest.raises(BadSetting, match="finite"):
        compare_systems({"a": {1: 1.0, 2: math.inf}, "b": {1: 1.0, 2: 2.0}})


def test_within_items_a_small_difference_is_seen_that_anova_does_not_see():
    """200 studies: 40 items of deviation 1, systems at 0, .2 and .36 of deviation .5; and 1,000 of equals."""
    decided = np.zeros(3)
    for n in range(200):
        rng = Key(n, ("repeated", "power")).generator()
        table = rng.normal(0, 1, (40, 1)) + rng.normal(0, 0.5, (40, 3)) + np.array([0, 0.2, 0.36])
        apart = anova({str(i): table[:, i].tolist() for i in range(3)})
        decided += np.array([within(table).p, friedman(table).p, apart.p]) < 0.05
    power = decided / 200
    assert power[0] > 0.7
    assert power[1] > 0.6
    assert power[2] < 0.05
    rng = Key(0, ("repeated", "size")).generator()
    null = [within(rng.normal(0, 1, (40, 1)) + rng.normal(0, 0.5, (40, 3))).p for _ in range(1000)]
    assert np.mean(np.array(null) < 0.05) == pytest.approx(0.05, abs=0.02)
