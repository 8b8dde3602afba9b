"""The watch and a value that is named gold: the turn from rise to fall does not hide its fall."""

import pytest
from gold_study import COURSES, share

from loquent.report.divergence import exceeded
from loquent.report.watch import parted

UPDATES = list(range(31))
RETURNS = [update / 30 for update in UPDATES]
HUMP = [(15 - abs(15 - update)) / 15 + 0.02 * (-1) ** update for update in UPDATES]


def test_a_fall_behind_a_rise_is_seen_in_gold_alone():
    up = {"gold": True, "other": True}
    fell, _ = parted(UPDATES, RETURNS, {"gold": HUMP, "other": HUMP}, up, None, {"gold"})
    assert [fall.key for fall in fell] == ["gold"]
    assert fell[0].best > 0.8 > 0.3 > fell[0].now
    assert parted(UPDATES, RETURNS, {"other": HUMP}, up, None)[0] == []


def test_gold_of_which_less_is_better_and_a_proxy_that_does_not_rise():
    turned = [-value for value in HUMP]
    [fall] = exceeded(UPDATES, RETURNS, {"gold": turned}, {"gold": False}, top=None)
    assert fall.best < -0.8 < -0.3 < fall.now
    assert exceeded(UPDATES, [0.5] * 31, {"gold": HUMP}, {"gold": True}, top=None) == []
    assert exceeded(UPDATES[:4], RETURNS[:4], {"gold": HUMP[:4]}, {"gold": True}, top=None) == []


@pytest.mark.parametrize("course", ["level", "rise"])
def test_it_is_silent_where_gold_does_not_fall(course):
    assert share(20, COURSES[course], histories=40) <= 0.1
    assert share(20, COURSES["hump"], histories=10) == 1
