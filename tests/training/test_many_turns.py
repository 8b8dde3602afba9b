"""Games of many turns: a tiny model taught by a half-random player learns Wordle on by reward.

Minutes; run with --slow.
"""

import pytest

from helpers.training.small_runs import gains
from loquent.tasks.wordle.experts import random
from loquent.training import recipes
from loquent.training.evaluate import evaluate_agent
from loquent.training.start import make_task
from loquent.training.train import train


@pytest.mark.slow
def test_ppo_and_nlpo_gain_three_standard_errors_on_a_clone(tmp_path):
    clone = train(recipes.load("wordle_clone"), tmp_path / "clone", progress=False).evaluation
    task = make_task(recipes.load("wordle_clone"))
    guessing = evaluate_agent(task, random(task), episodes=1000)
    assert not gains(
        clone["values"]["return"],
        clone["errors"]["return"],
        clone["values"]["return"],
        clone["errors"]["return"],
    )
    assert gains(
        guessing.values["return"],
        guessing.errors["return"],
        clone["values"]["return"],
        clone["errors"]["return"],
    )
    for name in ("wordle_ppo", "wordle_nlpo"):
        learned = train(
            recipes.load(name, [f"model.path={tmp_path / 'clone'}"]), tmp_path / name, progress=False
        ).evaluation
        assert learned["n"] == clone["n"] == 1000
        assert gains(
            clone["values"]["return"],
            clone["errors"]["return"],
            learned["values"]["return"],
            learned["errors"]["return"],
        ), learned
