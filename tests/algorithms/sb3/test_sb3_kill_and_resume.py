"""Learners of Stable-Baselines3 killed with SIGKILL at seeded moments and resumed are the run nobody killed.

No leaf of what they save is idle.
"""

import copy
import json
import random

import pytest

from helpers import killed
from helpers.states import difference, goes_on, idle, leaves, moved, put, same, stale, without
from loquent.errors import BadCheckpoint
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, recipes
from loquent.training.trainer import Trainer

pytest.importorskip("sb3_contrib")

WORDS = ("abc", "eel", "of", "xyz", "a")
ROWS = [
    {"tokens": list(word), "labels": ["vowel" if letter in "aeiou" else "other" for letter in word]}
    for word in WORDS
]
SAMPLES = [
    {**row, "split": split, "weight": 1.0 + i}
    for split in ("train", "validation", "test")
    for i, row in enumerate(ROWS)
]
SMALL = {
    "task": {"kind": "tagging", "source": "samples", "labels": ["vowel", "other"], "instruct": False,
        "samples": SAMPLES},
    "training": {
        "updates": 8, "evaluate_every": 2, "evaluate_episodes": 5, "final_episodes": 5, "checkpoint_every": 1,
        "keep": 2, "stop_metric": "return",
        "patience": 99,
    },
}  # fmt: skip
SHARED = {"features": {"kind": "hashed", "dimension": 16}, "network": [8], "steps": 24}
DQN = {
    "games": 2, "learning_starts": 10, "replay": 40, "minibatch": 4, "target_every": 8, "explore_share": 1.0,
    "schedule": "linear",
}  # fmt: skip
LEARNERS = {
    "sb3/double_dqn": DQN,
    "sb3/maskable_double_dqn": DQN,
    "sb3/ppo": {"games": 2, "rollout": 6, "minibatch": 4, "epochs": 2, "schedule": "linear"},
    "sb3/a2c": {"games": 3, "rollout": 4},
    "sb3/maskable_ppo": {"games": 2, "rollout": 6, "minibatch": 4},
    "sb3/trpo": {"games": 2, "rollout": 6, "minibatch": 4, "critic_epochs": 2},
}
# (moment, how often it comes in one update)
MOMENTS = {
    "in_table": 12, "in_step": 6, "in_network": 1, "in_tensors": 1, "in_json": 1, "before_rename": 1,
    "after_rename": 1, "in_removal": 1, "in_log": 1,
    "after_log": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """For each learner its recipe's file and the run that nobody killed, made by the command."""
    folder = tmp_path_factory.mktemp("whole")

    def make(kind):
        priority = {"priority": 0.5} if kind == "sb3/double_dqn" else {}  # the others draw epoch by epoch
        file, run = folder / f"{kind[4:]}.yaml", folder / kind[4:]
        file.write_text(
            json.dumps(
                {
                    **SMALL,
                    "training": {**SMALL["training"], **priority},
                    "algorithm": {"kind": kind, **SHARED, **LEARNERS[kind]},
                }
            )
        )
        assert killed.loquent("train", str(file), "--out", str(run)) == 0
        return file, run

    return killed.Wholes(make)


@pytest.mark.sweep("sb3/maskable_double_dqn", "sb3/ppo")
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_run_killed_again_and_again_is_the_same_run(kind, wholes, tmp_path, request):
    """At every moment; PPO by day only within an update."""
    file, whole = wholes[kind]
    draw = random.Random(kind)
    moments = [
        (name, draw.randint(1, max(1, often * 3 // 2)))
        for name, often in draw.sample(sorted(MOMENTS.items()), len(MOMENTS))
    ]
    if kind == "sb3/ppo" and not request.config.getoption("--slow"):
        moments = [moment for moment in moments if moment[0] == "in_step"]
    else:
        moments.append(("at_the_end", 1))
    killed.again_and_again(file, tmp_path / "run", moments)
    assert difference(whole, tmp_path / "run") is None


@pytest.mark.sweep("sb3/ppo")
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_leaf_of_the_state_can_be_missing(kind, wholes):
    """Each leaf dropped in turn: the checkpoint is refused, or the run that goes on from it is another
    one.
    """
    file, whole = wholes[kind]
    state = checkpoint.load(RunFolder(whole).checkpoints.all()[-1])
    paths = leaves(state)
    assert len(paths) > 60
    assert idle(Trainer(recipes.load(file)), state, paths, without) == []


@pytest.mark.sweep("sb3/maskable_double_dqn")
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_leaf_that_was_never_saved_would_be_seen(kind, wholes):
    """Each leaf that training moves, as it was at the start, in the place of the saved one: the run is
    another one.
    """
    trainer = Trainer(recipes.load(wholes[kind][0]))
    fresh = copy.deepcopy(trainer.state())
    for _ in range(2):  # so early that much is still explored
        trainer.update()
    state = copy.deepcopy(trainer.state())
    paths = moved(state, fresh)
    names = {"/".join(map(str, path)) for path in paths}
    assert {
        "counters/updates",
        "experience/games",
        "algorithm/learner/counters/num_timesteps",
        "algorithm/table/dealt",
    } <= names
    assert stale(trainer, state, fresh, paths) == []


@pytest.mark.parametrize("part", ["rewards", "observations", "actions", "dones"])
def test_another_memory_is_another_run(part, wholes, tmp_path):
    """Arrays of the replay have no beginning to be put back to: one turn of it is changed."""
    file, whole = wholes["sb3/double_dqn"]
    state = checkpoint.load(RunFolder(whole).checkpoints.all()[-1])
    trainer = Trainer(recipes.load(file))
    right = goes_on(trainer, state)
    other = copy.deepcopy(state)
    array = other["algorithm"]["learner"]["replay"][part]
    array[:] = 1 - array
    found = goes_on(trainer, other)
    assert same(right["logs"], found["logs"])


def test_what_is_missing_is_named(wholes, tmp_path):
    file, whole = wholes["sb3/ppo"]
    trainer = Trainer(recipes.load(file))
    state = checkpoint.load(RunFolder(whole).checkpoints.all()[-1])
    with pytest.raises(BadCheckpoint, match="counters: _n_updates of the learner's state is missing"):
        trainer.restore(without(state, ("algorithm", "learner", "counters", "_n_updates")))
    with pytest.raises(BadCheckpoint, match="optimizer: more of the learner's state is not part of it"):
        trainer.restore(
            put(
                state,
                ("algorithm", "learner", "optimizer"),
                {**state["algorithm"]["learner"]["optimizer"], "more": 1},
            )
        )
