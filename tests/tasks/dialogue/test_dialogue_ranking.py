"""Ranks of images by their distance from a guess."""

import numpy as np
import pytest

from loquent.errors import BrokenAgent
from loquent.tasks.dialogue.game import ranking


def test_the_rank_counts_the_image_itself_once():
    rng = np.random.default_rng(0)
    pool = rng.standard_normal((50, 8))
    ranked = ranking.Pool(pool)
    distances = ((pool - pool[3]) ** 2).sum(1)
    assert ranked.percentile(pool[3], pool[3]) == 1 - 1 / 51
    for number in range(50):
        rank = 1 + int((distances < distances[number]).sum())
        assert ranked.percentile(pool[3], pool[number]) == 1 - rank / 51
    assert ranked.percentile(pool[3], pool[3] + 100) == 1 - 51 / 51


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_rank_of_no_number_is_an_error(bad):
    ranked, good, broken = ranking.Pool(np.eye(3)), np.ones(3), np.array([0.0, bad, 0.0])
    for judged in (ranked.percentile, ranking.closeness):
        with pytest.raises(BrokenAgent, match=f"the guess of the image has the feature {bad}"):
            judged(broken, good)
        with pytest.raises(BrokenAgent, match="the image has the feature"):
            judged(good, broken)
