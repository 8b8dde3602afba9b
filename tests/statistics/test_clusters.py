"""Errors clustered by row: by hand, against statsmodels, and the coverage of what they stand for."""

import math

import pytest

from loquent.core.seeding import Key
from loquent.errors import LoquentError
from loquent.statistics.clusters import crossed_number, effective_number, mean_and_error, members, wilson
from loquent.statistics.intervals import student


def test_rows_played_once_have_the_ordinary_error():
    # mean 2, deviations -1, 0, 1: variance 2 / 2 = 1, error sqrt(1 / 3)
    assert mean_and_error([1.0, 2.0, 3.0], "abc") == (2.0, pytest.approx(math.sqrt(1 / 3), rel=1e-15))
    assert effective_number([0.0, 1.0, 1.0, 0.0, 1.0], "abcde") == pytest.approx(5)


def test_replays_by_hand():
    # mean 1; row a: -1 + 0 = -1, row b: 1 + 0 = 1; 2 / 1 times the squares 1 + 1 is 4: sqrt(4) / 4
    assert mean_and_error([0.0, 1.0, 2.0, 1.0], "aabb") == (1.0, 0.5)
    # the variance is (1 + 0 + 1 + 0) / 4 = 1/2: 1 + (1/2) / (1/4) = 3 independent episodes
    assert effective_number([0.0, 1.0, 2.0, 1.0], "aabb") == 3
    # as independent episodes they have the error sqrt((2 / 3) / 4)
    assert mean_and_error([0.0, 1.0, 2.0, 1.0], "abcd")[1] == pytest.approx(math.sqrt(1 / 6))


def test_the_order_of_the_episodes_does_not_matter():
    assert mean_and_error([0.0, 2.0, 1.0, 1.0], "abab") == (1.0, 0.5)


def test_the_error_is_that_of_statsmodels():
    # statsmodels 0.15.0: OLS(x, ones).fit(cov_type="cluster", cov_kwds={"groups": rows})
    numbers = [0.5, 1.25, -0.75, 2.0, 2.5, 0.0, 1.0, 3.5, -1.25, 0.25, 0.75]
    mean, error = mean_and_error(numbers, "aaabbcdddde")
    assert mean == pytest.approx(0.8863636363636361, rel=1e-14)
    assert error == pytest.approx(0.33705244010486457, rel=1e-14)
    assert mean_and_error(numbers, range(11))[1] != pytest.approx(error, rel=0.1), "clusters matter here"


@pytest.mark.parametrize("numbers", [[1.0, 0.0, 0.0, 1.0, 1.0], [0.5, -2.0, 0.25, 3.0, 8.0], [1.0] * 5])
@pytest.mark.parametrize("times", [2, 10])
def test_equal_replays_are_no_new_evidence(numbers, times):
    mean, error = mean_and_error(numbers, range(5))
    again = mean_and_error(numbers * times, [*range(5)] * times)
    assert again == (pytest.approx(mean, rel=1e-12), pytest.approx(error, rel=1e-12))
    assert effective_number(numbers * times, [*range(5)] * times) == pytest.approx(5)


def test_rows_played_unequally_often_count_less():
    # all agree: (4 + 1 + 1)² / (16 + 1 + 1) = 2
    assert effective_number([1.0] * 6, "aaaabc") == 2


def test_replays_never_count_for_more_than_new_rows():
    # every row has one success of two: the sums are 0, and so is the error; four episodes count as four
    assert mean_and_error([0.0, 1.0, 0.0, 1.0], "aabb") == (0.5, 0.0)
    assert effective_number([0.0, 1.0, 0.0, 1.0], "aabb") == 4


def test_one_row_shows_no_error():
    mean, error = mean_and_error([0.0, 1.0], "aa")
    assert mean == 0.5
    assert math.isnan(error)
    assert effective_number([0.0, 1.0], "aa") == 1


def test_pairs_of_two_rows_by_hand():
    # numbers 1, 1, 0, 0 of the rows (a, x), (a, y), (b, x), (b, y): mean 1/2, variance 1/4
    # by the first row: sums 1, -1: 2 * 2 / 16 = 1/4; by the second: sums 0, 0; by both: 4/3 * 1 / 16 = 1/12
    # the total is max(1/4, 0, 1/4 + 0 - 1/12) = 1/4: 1 + (1/4) / (1/4) = 2
    numbers = [1.0, 1.0, 0.0, 0.0]
    assert crossed_number(numbers, "aabb", "xyxy") == pytest.approx(2)
    assert crossed_number(numbers, "xyxy", "aabb") == pytest.approx(2)
    assert crossed_number(numbers, "aabc", "aabc") == pytest.approx(effective_number(numbers, "aabc"))
    assert crossed_number(numbers, "abcd", "aaaa") == 1, "one row shows no error"
    assert crossed_number([1.0] * 4, "abcd", "aabb") == 2


def test_bad_input_is_refused():
    with pytest.raises(LoquentError, match="0 numbers is undefined; give at least one"):
        mean_and_error([], [])
    with pytest.raises(LoquentError, match="2 numbers have 1 rows; give the row of each number"):
        mean_and_error([1.0, 2.0], ["a"])


def test_members_are_the_episodes_of_each_row():
    assert [own.tolist() for own in members("abacb")] == [[0, 2], [1, 4], [3]]


# rows, episodes: without replays, some rows twice, every row ten times
SIZES = [(50, 50), (50, 75), (50, 500), (200, 200), (200, 2000), (1000, 1500)]
RUNS = 1500
CORRELATIONS = [1.0, 0.3, 0.0]  # of the episodes on one row; 1: a deterministic player


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "episodes"), SIZES)
@pytest.mark.parametrize("correlation", CORRELATIONS)
def test_the_coverage_of_means(rows, episodes, correlation):
    """The mean ± t errors holds the true mean in 93 to 97%; with errors of independent episodes, in fewer."""
    stream = Key(rows + episodes, ("coverage", str(correlation))).generator()
    played = [number % rows for number in range(episodes)]
    t, held, naive = student(rows - 1), 0, 0
    for _ in range(RUNS):
        between, within = stream.normal(size=rows), stream.normal(size=episodes)
        numbers = math.sqrt(correlation) * between[played] + math.sqrt(1 - correlation) * within
        mean, error = mean_and_error(numbers.tolist(), played)
        held += abs(mean) <= t * error
        naive += abs(mean) <= t * mean_and_error(numbers.tolist(), range(episodes))[1]
    assert 0.93 <= held / RUNS <= 0.97
    if correlation and episodes == 10 * rows:
        assert naive / RUNS < 0.8, "before"


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "episodes"), SIZES)
@pytest.mark.parametrize("share", [0.5, 0.2])
@pytest.mark.parametrize("correlation", [1.0, 0.3])
def test_the_coverage_of_shares(rows, episodes, share, correlation):
    """The Wilson interval with the effective number and z = t; shares are discrete, so 92.5 to 97.5%."""
    stream = Key(rows + episodes, ("coverage", str(share), str(correlation))).generator()
    played = [number % rows for number in range(episodes)]
    t, held = student(rows - 1), 0
    for _ in range(RUNS):
        if correlation == 1:
            chances = (stream.random(rows) < share).astype(float)
        else:
            size = 1 / correlation - 1
            chances = stream.beta(share * size, (1 - share) * size, size=rows)
        numbers = (stream.random(episodes) < chances[played]).astype(float).tolist()
        low, high = wilson(sum(numbers) / episodes, effective_number(numbers, played), t)
        held += low <= share <= high
    assert 0.925 <= held / RUNS <= 0.975
