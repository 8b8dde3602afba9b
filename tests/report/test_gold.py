"""The watch and a value that is named gold: the turn from rise to fall does not hide its fall."""

import pytest

from loquent.report.divergence import find_falls
from loquent.report.watch import falls_and_rises
from loquent.statistics import trend
from tools.studies.gold_study import COURSES, share, walks

UPDATES = list(range(31))
RETURNS = [update / 30 for update in UPDATES]
HUMP = [(15 - abs(15 - update)) / 15 + 0.02 * (-1) ** update for update in UPDATES]


def test_a_fall_behind_a_rise_is_seen_in_gold_alone():
    up = {"gold": True, "other": True}
    fell, _ = falls_and_rises(UPDATES, RETURNS, {"gold": HUMP, "other": HUMP}, up, None, {"gold"})
    assert [fall.key for fall in fell] == ["gold"]
    assert fell[0].best > 0.8 > 0.3 > fell[0].now
    assert falls_and_rises(UPDATES, RETURNS, {"other": HUMP}, up, None)[0] == []


def test_gold_of_which_less_is_better_and_a_proxy_that_does_not_rise():
    turned = [-value for value in HUMP]
    [fall] = find_falls(UPDATES, RETURNS, {"gold": turned}, {"gold": False}, top=None)
    assert fall.best < -0.8 < -0.3 < fall.now
    assert find_falls(UPDATES, [0.5] * 31, {"gold": HUMP}, {"gold": True}, top=None) == []
    assert find_falls(UPDATES[:4], RETURNS[:4], {"gold": HUMP[:4]}, {"gold": True}, top=None) == []


@pytest.mark.parametrize("course", ["level", "rise"])
def test_it_is_silent_where_gold_does_not_fall(course):
    assert share(20, COURSES[course], histories=40) <= 0.1
    assert share(20, COURSES["hump"], histories=10) == 1


def test_several_values_named_gold_share_the_error():
    """The fall has p = 0.0004: at most 0.001, but more than 0.001 / 8."""
    fall = [0.5 + 0.03 * (-1) ** i - 0.12 * (i > 22) for i in range(31)]
    assert 0.001 / 8 < trend.gain([-value for value in fall], 0, 7, 7) < 0.001
    assert find_falls(UPDATES, RETURNS, {"gold": fall}, {"gold": True}, top=None)
    values = {"gold/0": fall} | {f"gold/{i}": [0.5] * 31 for i in range(1, 8)}
    assert find_falls(UPDATES, RETURNS, values, dict.fromkeys(values, True), top=None) == []


def test_a_rare_event_is_no_fall_of_gold():
    rare = {"gold": [0.0] * 4 + [-1 / 24]}
    assert find_falls(UPDATES[:5], RETURNS[:5], rare, {"gold": True}, top=None) == []


def test_how_often_it_speaks_of_walks_is_on_the_page():
    """By chance half of all long walks end below their best: the rule is against noise alone."""
    assert walks(5, histories=100) <= 0.05
    assert walks(20, histories=100) > 0.2
