"""Several processes that learn together are one process, but for rounding."""

import json

import pytest
from safetensors.torch import load_file

from helpers import ranks, together

DAILY = ("grpo", "ppo", "dpo", "turn_cloning")


@pytest.fixture(scope="module")
def pair(wordle_games, tmp_path_factory, request):
    """The folder of what two processes had, by learner; one pair of processes learns all."""
    folder = tmp_path_factory.mktemp("pair")
    names = [name for name in ranks.CASES if request.config.getoption("--slow") or name in DAILY]
    assert together.run(ranks.learn, 2, folder, names, str(wordle_games)) == [0, 0]
    return folder


def test_two_processes_train_the_reward_model_of_one(pair, tmp_path):
    alone = ranks.reward_model(tmp_path / "alone")
    assert len(alone.division.training) % 4 == 1, "a process has no pair of the last step"
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (pair / "reward", alone.folder))
    assert ranks.difference(ours, theirs, "") < 1e-5
    card = json.loads((pair / "reward" / "card.json").read_text())
    assert card["history"][0]["held_out_loss"] == pytest.approx(alone.quality.loss, rel=1e-6)
    assert not (pair / "reward" / "checkpoint.safetensors").exists()


@pytest.mark.sweep(*DAILY)
@pytest.mark.parametrize("learner", ranks.CASES)
def test_two_processes_learn_what_one_learns(learner, pair, wordle_games):
    known, alone = ranks.of(learner, wordle_games)
    first, second = (json.loads((pair / f"{learner}-{rank}.json").read_text()) for rank in (0, 1))
    ours, theirs = (load_file(pair / f"{learner}-{rank}.safetensors") for rank in (0, 1))
    assert first["rows"] == second["rows"] == known["rows"]
    assert first["texts"] == second["texts"] == known["texts"]
    assert all(ours[name].equal(theirs[name]) for name in ours if name.startswith("after"))
    assert ranks.difference(ours, alone, "gradient ") < 1e-5
    assert ranks.difference(ours, alone, "after ") < 1e-5
    assert ranks.movement(alone) > 1e-4, "the comparison can fail"
