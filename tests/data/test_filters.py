"""Shares of episodes by return, and what is no share."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.episode import Episode, Turn
from loquent.core.values import Record
from loquent.data.filters import at_least, best, filter_episodes, shares, worst
from loquent.errors import BadSetting

WEIGHTS = Record(guess=1.0)


def game(number, value, kind=""):
    turns = (
        Turn("task", "", to="agent"),
        Turn("agent", "x", rewards=Record(guess=value)),
        Turn("task", "", to="agent"),
    )
    return Episode(
        "t-v1", "r", "train", 0, number, turns, "done", meta=Record(kind=kind) if kind else Record()
    )


def numbers(episodes):
    return [one.number for one in episodes]


def test_by_hand():
    # an ascending argsort of the returns is 1 3 0 2 4
    scores = [-2.0, -6.0, -1.0, -3.0, 0.0]
    assert best(scores, 0.4).tolist() == [2, 4]
    assert worst(scores, 0.4).tolist() == [1, 3]
    assert best(scores, 1.0).tolist() == worst(scores, 1.0).tolist() == [0, 1, 2, 3, 4]
    assert best(scores, 0.79).tolist() == [0, 2, 4], "int(5 * 0.79) = 3"


def test_an_episode_that_could_not_be_judged_is_in_no_share():
    episodes = [game(i, float(i)) for i in range(4)]
    episodes[3] = replace(episodes[3], unjudged=("guess",))
    assert numbers(filter_episodes(episodes, WEIGHTS, top=0.4)) == [2]
    episodes[3] = replace(episodes[3], unjudged=("other",))  # a name without a weight
    assert numbers(filter_episodes(episodes, WEIGHTS, top=0.25)) == [3]


def test_a_share_of_less_than_one_episode_keeps_none_and_not_all():
    assert best([1.0, 2.0, 3.0], 0.3).tolist() == []
    assert worst([1.0, 2.0, 3.0], 0.3).tolist() == []
    assert [1.0, 2.0, 3.0][-int(3 * 0.3) :] == [1.0, 2.0, 3.0], "what a slice from -0 would keep"
    with pytest.raises(
        BadSetting, match=r"top = 0\.3 of 3 episodes keeps none; use at least 0\.333 to keep one"
    ):
        filter_episodes([game(i, 0.0) for i in range(3)], WEIGHTS, top=0.3)


def test_the_share_is_what_it_says_where_a_product_is_a_little_less():
    assert 0.29 * 100 < 29
    assert len(best(np.arange(100), 0.29)) == len(worst(np.arange(100), 0.29)) == 29


def test_equals_are_cut_by_their_place():
    assert best([0.0, 1.0, 1.0, 1.0], 0.5).tolist() == [2, 3]
    assert worst([0.0, 0.0, 0.0, 1.0], 0.5).tolist() == [0, 1]


@given(st.lists(st.integers(-6, 0), min_size=1, max_size=40), st.floats(0.01, 1.0))
def test_what_is_kept_is_no_worse_than_what_is_not(scores, share):
    high, low = best(scores, share).tolist(), worst(scores, share).tolist()
    assert len(high) == len(low) == int(len(scores) * share + 1e-9)
    assert high == sorted(high)
    rest = [score for i, score in enumerate(scores) if i not in high]
    assert not high or not rest or min(scores[i] for i in high) >= max(rest)
    rest = [score for i, score in enumerate(scores) if i not in low]
    assert not low or not rest or max(scores[i] for i in low) <= min(rest)
    if high:
        assert shares(scores, top=share).tolist() == high
        assert shares(scores, bottom=share).tolist() == low


def test_the_worst_are_taken_first_and_the_best_of_them():
    games = [game(i, float(value)) for i, value in enumerate((5, 1, 4, 2, 3, 0))]
    assert numbers(filter_episodes(games, WEIGHTS, bottom=0.5)) == [1, 3, 5]
    assert numbers(filter_episodes(games, WEIGHTS, bottom=0.5, top=0.67)) == [1, 3]
    assert numbers(filter_episodes(games, WEIGHTS, top=0.5)) == [0, 2, 4]
    assert numbers(filter_episodes(games, Record(guess=-1.0), top=0.5)) == [1, 3, 5]
    assert filter_episodes(games, WEIGHTS) == games
    assert shares([5, 1, 4, 2, 3, 0], bottom=0.5, top=0.67).tolist() == [1, 3]
    with pytest.raises(
        BadSetting, match=r"top = 1 of 0 episodes keeps none|bottom = 1 of 0 episodes keeps none"
    ):
        shares([])


def test_a_cutoff_keeps_what_reaches_it_or_fails_at_once():
    assert at_least([-5.0, 0.0, -10.0, 0.0], 0.0).tolist() == [1, 3]
    assert at_least([-5.0, 0.0, -10.0], -5.0).tolist() == [0, 1]
    with pytest.raises(BadSetting, match=r"none of 2 episodes has .* at least 1; the highest is 0; lower"):
        at_least([-5.0, 0.0], 1.0)
    with pytest.raises(BadSetting, match="none of 0 episodes"):
        at_least([], 1.0)
    with pytest.raises(BadSetting, match="the return of episode 0 is nan"):
        at_least([float("nan"), 1.0], 0.0)


def test_kinds_come_before_shares():
    games = [game(0, 9.0, "expert"), game(1, 1.0, "suboptimal"), game(2, 2.0, "suboptimal"), game(3, 0.0)]
    assert numbers(filter_episodes(games, WEIGHTS, kinds=["suboptimal"], top=0.5)) == [2]
    assert numbers(filter_episodes(games, WEIGHTS, kinds=["expert", ""])) == [0, 3]
    with pytest.raises(
        BadSetting,
        match=r"none of 4 episodes is of kind adversarial; the dataset has the kinds: '', 'expert', "
        r"'suboptimal'",
    ):
        filter_episodes(games, WEIGHTS, kinds=["adversarial"])


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, float("nan")])
def test_what_is_no_share_is_refused(share):
    for choose in (best, worst):
        with pytest.raises(BadSetting, match="greater than 0 and at most 1"):
            choose([1.0], share)


def test_a_return_that_is_not_finite_is_refused():
    with pytest.raises(BadSetting, match="the return of episode 1 is nan"):
        best([1.0, float("nan")], 0.5)
