"""The same for learners that keep more than weights: CHAI's candidates, the Decision Transformer's map,
values of whole answers.
"""

import copy
import json
import random

import pytest

from helpers import killed
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, recipes
from loquent.training.trainer import Trainer
from tests.training import test_kill_and_resume as house

LEARNERS = {
    "ilql_utterance": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "awac_beta": 0.5,
        "target_rate": 0.1,
        "best_of": 2,
    },
    "decision_transformer": {"minibatch": 3, "learning_rate": 0.01, "wanted_return": 2.0},
    "chai": {
        "epochs": 2,
        "minibatch": 3,
        "learning_rate": 0.003,
        "candidates": 2,
        "target_rate": 0.1,
        "best_of": 2,
    },
    "chai, nothing kept": {
        "kind": "chai",
        "cache": 0,
        "minibatch": 3,
        "learning_rate": 0.003,
        "candidates": 2,
        "target_rate": 0.1,
        "best_of": 2,
    },
}
KEPT = {
    "ilql_utterance": {"actor/values.q_heads.0.outer.weight", "actor/values.target_heads.0.outer.weight"},
    "decision_transformer": {
        "actor/conditioning.layer.weight",
        "algorithm/optimizer/conditioning.layer.bias/exp_avg",
    },
    "chai": {
        "actor/values.target_heads.0.outer.weight",
        "algorithm/candidates/features",
        "algorithm/candidates/logprob",
    },
    "chai, nothing kept": {
        "actor/values.target_heads.0.outer.weight",
        "algorithm/optimizer/values.q_heads.1.outer.weight/exp_avg_sq",
    },
}
MOMENTS = (
    "in_update", "in_backward", "in_tensors", "in_policy", "in_json", "before_rename", "after_rename",
    "in_removal", "in_log", "after_log",
    "anywhere",
)  # fmt: skip


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """For each learner its recipe's file and the run that nobody killed."""
    folder = tmp_path_factory.mktemp("whole")
    draw = random.Random(5)
    (folder / "texts.txt").write_text("\n".join(" ".join(draw.choices(house.WORDS, k=12)) for _ in range(80)))
    task = {**house.SMALL["task"], "path": str(folder / "texts.txt")}
    options = [f"{name}={value}" for name, value in task.items() if name != "kind"]
    assert (
        killed.loquent(
            "collect",
            "generation",
            "--agent",
            "random",
            "--episodes",
            "40",
            "--out",
            str(folder / "games"),
            *options,
        )
        == 0
    )
    training = {**house.SMALL["training"], "data": str(folder / "games")}

    def make(kind):
        file = folder / f"{kind.replace(', ', '-').replace(' ', '-')}.yaml"
        file.write_text(
            json.dumps(
                {
                    **house.SMALL,
                    "task": task,
                    "training": training,
                    "algorithm": {"kind": kind, **LEARNERS[kind]},
                }
            )
        )  # JSON is YAML
        assert killed.loquent("train", str(file), "--out", str(folder / kind)) == 0
        return file, folder / kind

    return killed.Wholes(make)


@pytest.mark.sweep("chai", "decision_transformer")
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_run_killed_again_and_again_is_the_same_run(kind, wholes, tmp_path):
    file, whole = wholes[kind]
    run, words = tmp_path / "run", ("train", str(file), "--out", str(tmp_path / "run"))
    draw = random.Random(kind)
    for moment in [*draw.sample(MOMENTS, len(MOMENTS)), "at_the_end"]:
        count = draw.randint(1, max(1, house.MOMENTS.get(moment, 1)))
        assert killed.loquent(*words, point=moment, count=count) == -9, (
            f"it was not killed {moment}, call {count}"
        )
        if (run / "config.yaml").exists():
            words = ("resume", str(run))
    assert killed.loquent(*words) == 0
    assert house.difference(whole, run) is None
    assert not list((run / "checkpoints").glob(".*")), "nothing is left of what was being written"


@pytest.mark.sweep("chai", "decision_transformer")
@pytest.mark.parametrize("kind", LEARNERS)
def test_no_leaf_of_the_state_can_be_missing(kind, wholes, tmp_path):
    file, whole = wholes[kind]
    state = checkpoint.load(RunFolder(whole).checkpoints.all()[-1])
    trainer = Trainer(recipes.load(file))
    right = house.goes_on(trainer, state)
    assert house.same(right, house.goes_on(trainer, state)) is None, "nothing dropped, nothing seen"
    dropped = house.leaves(state)
    assert {"/".join(map(str, path)) for path in dropped} >= KEPT[kind]
    if kind == "chai":
        assert len(state["algorithm"]["candidates"]["states"]) > 1
    if kind == "chai, nothing kept":
        assert state["algorithm"]["candidates"] == {"states": []}
    unseen = [
        path
        for path in dropped
        if house.same(right, house.goes_on(trainer, house.without(state, path))) is None
    ]
    assert unseen == []


@pytest.mark.sweep("chai", "decision_transformer")
@pytest.mark.parametrize("kind", LEARNERS)
def test_a_leaf_that_was_never_saved_would_be_seen(kind, wholes, tmp_path):
    """Each leaf that training moves, as it was at the start, in the place of the saved one: the run is
    another one.
    """
    file, whole = wholes[kind]
    state = checkpoint.load(RunFolder(whole).checkpoints.all()[-1])
    trainer = Trainer(recipes.load(file))
    fresh = copy.deepcopy(trainer.state())
    right = house.goes_on(trainer, state)
    moved = [
        path
        for path in house.leaves(state)
        if house.is_in(fresh, path) and house.same(house.at(state, path), house.at(fresh, path))
    ]
    names = {"/".join(map(str, path)) for path in moved}
    assert names >= {"counters/updates", "experience/sampler/place"} | {
        name for name in KEPT[kind] if name.startswith("actor/")
    }
    assert [
        path
        for path in moved
        if house.same(right, house.goes_on(trainer, house.put(state, path, house.at(fresh, path)))) is None
    ] == []


def test_candidates_that_were_never_saved_would_be_seen(wholes, tmp_path):
    """Those kept are what goes on learning: one of them changed by one bit is another run, and none of them
    is another checkpoint.
    """
    file, whole = wholes["chai"]
    state = checkpoint.load(RunFolder(whole).checkpoints.all()[-1])
    trainer = Trainer(recipes.load(file))
    right = house.goes_on(trainer, state, updates=8)  # all of the data once more
    place = ("algorithm", "candidates", "features")
    other = house.at(state, place).clone()
    other += 1e-3
    assert house.same(right, house.goes_on(trainer, house.put(state, place, other), updates=8)) is not None
    gone = house.put(state, place[:2], {"states": []})
    redrawn = house.goes_on(trainer, gone, updates=1)
    assert len(redrawn["state"]["algorithm"]["candidates"]["states"]) < len(
        state["algorithm"]["candidates"]["states"]
    )
