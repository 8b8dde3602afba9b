"""PPO over turns, killed with SIGKILL at seeded moments and resumed, is the run that was not killed."""

import copy
import json
import random

import pytest

from helpers import killed, small_encoder
from helpers.states import difference, idle, leaves, moved, stale, without
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, recipes
from loquent.training.trainer import Trainer

WORDS = ("abc", "eel", "of", "xyz", "a")
ROWS = [
    {"tokens": list(word), "labels": ["vowel" if letter in "aeiou" else "other" for letter in word]}
    for word in WORDS
]
SAMPLES = [{**row, "split": split} for split in ("train", "validation", "test") for row in ROWS]
RUN = {
    "task": {
        "kind": "tagging",
        "source": "samples",
        "labels": ["vowel", "other"],
        "instruct": False,
        "samples": SAMPLES,
    },
    "training": {
        "updates": 6,
        "episodes": 7,
        "evaluate_every": 2,
        "evaluate_episodes": 5,
        "final_episodes": 5,
        "checkpoint_every": 1,
        "keep": 2,
        "stop_metric": "return",
        "patience": 99,
    },
    "algorithm": {
        "kind": "turn_ppo",
        "features": {"kind": "hashed", "dimension": 16},
        "width": 8,
        "layers": 1,
        "minibatch": 6,
        "epochs": 2,
        "schedule": "linear",
        "total_steps": 60,
    },
}
# (moment, how often it comes in one update)
MOMENTS = {
    "in_rollout": 14,
    "in_update": 6,
    "in_backward": 6,
    "in_network": 1,
    "in_tensors": 1,
    "after_rename": 1,
    "after_log": 1,
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The recipe's file and the run that was not killed."""
    folder = tmp_path_factory.mktemp("whole")
    file = folder / "turns.yaml"
    file.write_text(json.dumps(RUN))
    assert killed.loquent("train", str(file), "--out", str(folder / "run")) == 0
    return file, folder / "run"


def test_a_run_killed_at_eight_moments_is_the_same_run(whole, tmp_path):
    file, right = whole
    draw = random.Random("turn_ppo")
    moments = [
        (name, draw.randint(1, max(1, often * 3 // 2)))
        for name, often in draw.sample(sorted(MOMENTS.items()), len(MOMENTS))
    ]
    killed.again_and_again(file, tmp_path / "run", [*moments, ("at_the_end", 1)])
    assert difference(right, tmp_path / "run") is None


def test_no_leaf_of_the_state_can_be_missing_or_stale(whole):
    file, right = whole
    trainer = Trainer(recipes.load(file))
    fresh = copy.deepcopy(trainer.state())
    state = checkpoint.load(RunFolder(right).checkpoints.all()[0])
    paths = leaves(state)
    assert len(paths) > 30
    assert idle(trainer, state, paths, without) == []
    changed = moved(state, fresh)
    assert {("counters", "updates"), ("experience", "games"), ("algorithm", "updates")} <= set(changed)
    assert stale(trainer, state, fresh, changed) == []


def test_a_run_with_a_frozen_encoder_is_resumed_to_the_bit(tmp_path):
    encoder = {"kind": "contextual", "model": str(small_encoder.write(tmp_path / "encoder"))}
    file = tmp_path / "turns.yaml"
    file.write_text(json.dumps({**RUN, "algorithm": {**RUN["algorithm"], "features": encoder}}))
    assert killed.loquent("train", str(file), "--out", str(tmp_path / "whole")) == 0
    killed.again_and_again(file, tmp_path / "run", [("in_update", 17)])
    assert difference(tmp_path / "whole", tmp_path / "run") is None
