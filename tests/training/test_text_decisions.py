"""Decisions in words: a tiny model that only knows how tagged text is written learns by NLPO to tag it.

Minutes; run with --slow.
"""

import pytest

from helpers.training.small_runs import gains
from loquent.core.agent import make
from loquent.training import recipes
from loquent.training.evaluate import evaluate_agent
from loquent.training.start import make_task
from loquent.training.train import train

EPISODES = 500


def test_the_start_is_taught_no_label():
    """What the clone imitates says any label alike, so all that tells labels apart is learned from reward."""
    clone, nlpo = recipes.load("tagging_clone"), recipes.load("tagging_nlpo")
    assert (clone.training.teacher, nlpo.algorithm, nlpo.options) == ("random", "nlpo", clone.options)
    assert {(one.training.final_split, one.training.final_episodes) for one in (clone, nlpo)} == {
        ("test", EPISODES)
    }


@pytest.mark.slow
def test_nlpo_beats_its_start_random_answers_and_the_best_constant_by_three_standard_errors(tmp_path):
    start = train(recipes.load("tagging_clone"), tmp_path / "clone", progress=False).evaluation
    learned = train(
        recipes.load("tagging_nlpo", [f"model.path={tmp_path / 'clone'}"]), tmp_path / "nlpo", progress=False
    ).evaluation
    task = make_task(recipes.load("tagging_nlpo"))
    others = [
        evaluate_agent(task, make(name, task), episodes=EPISODES).as_json()
        for name in ("random", "constant", "majority")
    ]
    assert (learned["split"], learned["n"]) == ("test", EPISODES)
    for other in (start, *others):
        assert (other["split"], other["n"]) == ("test", EPISODES)
        assert gains(
            other["values"]["return"],
            other["errors"]["return"],
            learned["values"]["return"],
            learned["errors"]["return"],
        ), (other, learned)
        assert not gains(
            learned["values"]["return"],
            learned["errors"]["return"],
            other["values"]["return"],
            other["errors"]["return"],
        )
