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
