"""Bootstrap intervals: their numbers by scipy and by hand, their coverage, and where there is none."""

import numpy as np
import pytest

from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.statistics import intervals
from loquent.statistics.resampling import (
    Bounds,
    Resampling,
    bca_shares,
    bounds,
    expanded_tail,
    interval,
    without_groups,
)


def mean_of(numbers):
    return lambda chosen: {"mean": float(numbers[chosen].mean())}


MANY = 10**8  # samples, for which Student's t is the normal distribution


def skewed(n, seed=0):
    return Key(seed, ("skewed",)).generator().exponential(size=n)


def test_bca_is_that_of_scipy_on_the_same_draws():
    stats = pytest.importorskip("scipy.stats")
    numbers, settings = skewed(40), Resampling(method="bca", resamples=2000)
    found = bounds(mean_of(numbers), 40, {"mean": float(numbers.mean())}, settings)["mean"]
    level = 1 - 2 * expanded_tail(40, 0.95)  # scipy has no correction for few samples
    draws = np.array([numbers[chosen].mean() for chosen in settings.draws(40)])
    earlier = stats.bootstrap((numbers,), np.mean, n_resamples=10, rng=np.random.default_rng(0))
    earlier.bootstrap_distribution = draws
    theirs = stats.bootstrap(
        (numbers,), np.mean, n_resamples=0, bootstrap_result=earlier, method="BCa", confidence_level=level
    ).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    plain = stats.bootstrap(
        (numbers,),
        np.mean,
        n_resamples=0,
        bootstrap_result=earlier,
        method="percentile",
        confidence_level=level,
    ).confidence_interval
    assert (plain.low, plain.high) != pytest.approx((found.low, found.high), abs=1e-3), "it can fail"
    ours = bounds(mean_of(numbers), 40, {"mean": float(numbers.mean())}, Resampling(resamples=2000))["mean"]
    assert (ours.low, ours.high) == pytest.approx((plain.low, plain.high), abs=1e-12)


def test_percentile_by_hand():
    # 0, 1, ..., 100: the quantiles of 0.05 and 0.95 are 5 and 95
    replicates = np.arange(101.0)
    assert interval(50.0, replicates, Resampling(resamples=101, level=0.9), np.array([]), MANY) == Bounds(
        pytest.approx(5.0, abs=1e-3), pytest.approx(95.0, abs=1e-3)
    )
    assert interval(
        50.0, replicates, Resampling(resamples=101, level=0.8), np.array([]), MANY
    ).low == pytest.approx(10.0, abs=1e-3)


def test_bca_by_hand():
    # half of the draws lie below and the jackknife is symmetric: bias and acceleration are 0, so the ends are
    # the plain ones
    replicates = np.arange(101.0)
    assert bca_shares(50.0, replicates, np.array([1.0, 2.0, 3.0]), 0.05) == pytest.approx((0.05, 0.95))
    # 84.13 % lie below (z0 = 1): Phi(1 + (1 + z)) with a = 0 is Phi(2 - 1.6449) = 0.6388 and Phi(2 + 1.6449)
    # = 0.99987
    draws = np.concatenate([np.zeros(84134), np.ones(100_000 - 84134)])
    assert bca_shares(0.5, draws, np.array([1.0, 2.0, 3.0]), 0.05) == pytest.approx(
        (0.63876, 0.99987), abs=1e-4
    )
    assert bca_shares(-1.0, replicates, np.array([1.0, 2.0]), 0.05) is None


def test_few_samples_widen_the_interval_by_hand():
    # n = 10, level 0.95: t(9) = 2.26216, times sqrt(10 / 9) = 2.38452; Phi(-2.38452) = 0.0085512
    assert expanded_tail(10, 0.95) == pytest.approx(0.0085512, abs=1e-6)
    assert expanded_tail(10_000, 0.95) == pytest.approx(0.025, abs=1e-4)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_ten_samples_have_an_interval_as_wide_as_students_and_a_caution(method):
    """Plain quantiles give 0.82 of its width."""
    numbers = np.arange(10.0) ** 1.1
    settings = Resampling(method=method, resamples=4000)
    found = bounds(mean_of(numbers), 10, {"mean": float(numbers.mean())}, settings)["mean"]
    student = intervals.interval(numbers.tolist())
    assert (found.high - found.low) / (student.high - student.low) == pytest.approx(1, abs=0.06)
    assert found.as_json()["caution"].startswith("10 samples are few")
    numbers = skewed(60)
    large = bounds(mean_of(numbers), 60, {"mean": float(numbers.mean())}, Resampling())["mean"]
    assert "caution" not in large.as_json()


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_hold_the_truth_about_as_often_as_they_say(method):
    """200 samples of an exponential distribution, whose mean is 1; 60 numbers each."""
    held = 0
    for seed in range(200):
        numbers = skewed(60, seed + 1)
        found = bounds(
            mean_of(numbers),
            60,
            {"mean": float(numbers.mean())},
            Resampling(method=method, resamples=200, level=0.9, seed=seed),
        )["mean"]
        held += found.low <= 1.0 <= found.high
    assert 0.82 <= held / 200 <= 0.95  # 0.9 but for the skewness, 0.021 being its standard error


def test_groups_are_left_out_once_each():
    left = [
        set(range(450)) - set(chosen["kept"])
        for chosen in without_groups(lambda numbers: {"kept": numbers.tolist()}, 450)
    ]
    assert len(left) == 200
    assert set.union(*left) == set(range(450))
    assert sum(map(len, left)) == 450
    assert len(list(without_groups(lambda numbers: {}, 7))) == 7


def test_draws_are_those_of_the_seed_alone():
    first, again, other = (
        [draw.tolist() for draw in Resampling(resamples=100, seed=seed).draws(9)] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert all(len(draw) == 9 and set(draw) <= set(range(9)) for draw in first)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_where_there_is_no_interval_it_says_why(method):
    settings = Resampling(method=method, resamples=200)
    different = bounds(
        lambda numbers: {"different": float(len(set(numbers.tolist())))}, 50, {"different": 50.0}, settings
    )
    assert different["different"].low is None
    assert "how many different" in different["different"].why
    least = bounds(lambda numbers: {"least": float(numbers.min())}, 50, {"least": 0.0}, settings)["least"]
    assert least.low is None
    assert "an extreme" in least.why
    assert (
        bounds(lambda numbers: {"one": 1.0}, 50, {"one": 1.0}, settings)["one"].why
        == "all draws have the same score"
    )
    assert bounds(lambda numbers: {"a": 1.0}, 1, {"a": 1.0}, settings)["a"].why.startswith("one sample")
    rare = bounds(
        lambda numbers: {"rare": float(numbers.mean())} if (numbers == 3).sum() > 2 else {},
        50,
        {"rare": 24.0},
        settings,
    )["rare"]
    assert rare == Bounds(why="fewer than half of the draws have a score")
    assert rare.as_json() == {"low": None, "high": None, "why": "fewer than half of the draws have a score"}


@pytest.mark.parametrize("given", [{"method": "t"}, {"resamples": 99}, {"level": 1.0}, {"seed": -1}])
def test_settings_have_ranges(given):
    with pytest.raises(BadSetting, match=next(iter(given))):
        Resampling(**given)
