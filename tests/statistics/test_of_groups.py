"""ANOVA, Tukey's HSD and the binomial test on published worked examples."""

import math

import pytest

from loquent.errors import BadSetting
from loquent.statistics.of_groups import anova, binomial, tukey

pytest.importorskip("scipy")

# the example of SAS's and SciPy's pages on Tukey's test: minutes to relief by three brands of medication
BRANDS = {
    "a": [24.5, 23.5, 26.4, 27.1, 29.9],
    "b": [28.4, 34.2, 29.5, 32.2, 30.1],
    "c": [26.1, 28.3, 24.3, 26.2, 27.8],
}


def test_tukey_on_the_published_example():
    first, second, third = tukey(BRANDS)
    for pair, names, values in (
        (first, "ab", (4.600, 0.951, 8.249, 0.014)),
        (second, "ac", (0.260, -3.389, 3.909, 0.980)),
        (third, "bc", (-4.340, -7.989, -0.691, 0.020)),
    ):
        assert (pair.first, pair.second) == tuple(names)
        found = (pair.difference, pair.low, pair.high, pair.p)
        assert found == pytest.approx(values, abs=5e-4)
    assert tukey(BRANDS, 0.8)[0].low > first.low  # it can fail: another level, another interval


def test_anova_by_hand():
    """Means 2, 3 and 7 of {1, 2, 3}, {2, 3, 4} and {6, 7, 8}: between 42 on 2, within 6 on 6, F = 21."""
    found = anova({"a": [1, 2, 3], "b": [2, 3, 4], "c": [6, 7, 8]})
    assert (found.f, found.between, found.within) == (pytest.approx(21), 2, 6)
    # F with 2 and m degrees of freedom has the tail (1 + 2 F / m)^(-m / 2)
    assert found.p == pytest.approx((1 + 2 * 21 / 6) ** -3)


def test_anova_on_the_published_example():
    """The mussels of McDonald, Seeb and Koehn 1991 (SciPy's page of f_oneway): F = 7.121."""
    mussels = {
        "tillamook": [0.0571, 0.0813, 0.0831, 0.0976, 0.0817, 0.0859, 0.0735, 0.0659, 0.0923, 0.0836],
        "newport": [0.0873, 0.0662, 0.0672, 0.0819, 0.0749, 0.0649, 0.0835, 0.0725],
        "petersburg": [0.0974, 0.1352, 0.0817, 0.1016, 0.0968, 0.1064, 0.105],
        "magadan": [0.1033, 0.0915, 0.0781, 0.0685, 0.0677, 0.0697, 0.0764, 0.0689],
        "tvarminne": [0.0703, 0.1026, 0.0956, 0.0973, 0.1039, 0.1045],
    }
    found = anova(mussels)
    assert (found.between, found.within) == (4, 34)
    assert found.f == pytest.approx(7.121019471642447)
    assert found.p == pytest.approx(0.0002812242314534544)


def test_tukey_equals_scipy_and_takes_a_group_of_one():
    """SciPy refuses a group of one, whose differences follow from the spread within the other groups."""
    stats = pytest.importorskip("scipy.stats")
    unequal = {"a": BRANDS["a"], "b": BRANDS["b"][:3], "c": BRANDS["c"][:2]}
    theirs = stats.tukey_hsd(*unequal.values())
    ends = theirs.confidence_interval(0.9)
    for one, (i, j) in zip(tukey(unequal, 0.9), ((0, 1), (0, 2), (1, 2)), strict=True):
        found = (one.difference, one.low, one.high, one.p)
        wanted = (theirs.statistic[j, i], ends.low[j, i], ends.high[j, i], theirs.pvalue[j, i])
        assert found == pytest.approx(wanted)
    # {1, 3}, {2, 6} and {4}: within 2 + 8 on 2 degrees of freedom; the error of a pair with the group of one
    # is sqrt(5 / 2 * (1 / 2 + 1 / 1)), and q with 2 degrees of freedom is tabulated as 8.331
    pairs = tukey({"a": [1, 3], "b": [2, 6], "c": [4]})
    assert [one.difference for one in pairs] == [2, 2, 0]
    assert pairs[1].high - pairs[1].difference == pytest.approx(8.331 * (2.5 * 1.5) ** 0.5, rel=1e-4)
    assert (pairs[1].first, pairs[1].second, pairs[2].p) == ("a", "c", 1)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**1000])
def test_numbers_of_any_size_have_the_same_tests(unit):
    sized = {name: [number * unit for number in numbers] for name, numbers in BRANDS.items()}
    assert anova(sized) == anova(BRANDS)
    for one, usual in zip(tukey(sized), tukey(BRANDS), strict=True):
        assert (one.p, one.difference / unit) == (usual.p, usual.difference)


def test_without_two_groups_or_spread_there_is_no_test():
    for groups in (
        {"a": [1, 2]},
        {"a": [1], "b": [2]},
        {"a": [3, 3], "b": [3, 3]},
        {"a": [1, 2], "b": []},
        {},
    ):
        assert anova(groups) is None
        assert tukey(groups) == []
    apart = {"a": [1, 1], "b": [2, 2]}
    assert (anova(apart).f, anova(apart).p, tukey(apart)) == (math.inf, 0.0, [])
    with pytest.raises(BadSetting, match="not finite"):
        anova({"a": [1, math.nan], "b": [2]})


def test_the_paper_s_head_to_head():
    """2210.01241 prints 682 wins against 587 with p < .01."""
    assert binomial(682, 587) == pytest.approx(0.0083, abs=5e-5)
    assert binomial(682, 587) == binomial(587, 682)
    assert binomial(641, 628) > 0.5  # it can fail
    assert binomial(0, 0) == 1.0
    assert binomial(5, 0) == pytest.approx(2 / 2**5)
    with pytest.raises(BadSetting, match="negative"):
        binomial(-1, 3)
