"""The same for learners that keep more than weights: CHAI's candidates, the Decision Transformer's map, values of whole answers."""

import json
import random

import pytest

import killed
import test_kill_and_resume as house
from loquent import checkpoint, recipe
from loquent.train import Trainer

LEARNERS = {
    "ilql_utterance": {"epochs": 2, "minibatch": 3, "learning_rate": 0.003, "awac_beta": 0.5, "target_rate": 0.1, "best_of": 2},
    "decision_transformer": {"minibatch": 3, "learning_rate": 0.01, "wanted_return": 2.0},
    "chai": {"epochs": 2, "minibatch": 3, "learning_rate": 0.003, "candidates": 2, "target_rate": 0.1, "best_of": 2},
}
KEPT = {
    "ilql_utterance": {"actor/values.q_heads.0.outer.weight", "actor/values.target_heads.0.outer.weight"},
    "decision_transformer": {"actor/conditioning.layer.weight", "algorithm/optimizer/conditioning.layer.bias/exp_avg"},
    "chai": {"actor/values.target_heads.0.outer.weight"},
}
MOMENTS = ("in_update", "in_backward", "in_tensors", "before_rename", "after_log", "anywhere")


@pytest.fixture(scope="module")
def wholes(tmp_path_factory):
    """For each learner its recipe's file and the run that nobody killed."""
    folder, made = tmp_path_factory.mktemp("whole"), {}
    draw = random.Random(5)
    (folder / "texts.txt").write_text("\n".join(" ".join(draw.choices(house.WORDS, k=12)) for _ in range(80)))
    task = {**house.SMALL["task"], "path": str(folder / "texts.txt")}
    options = [f"{name}={value}" for name, value in task.items() if name != "kind"]
    assert killed.loquent("collect", "generation", "--agent", "random", "--episodes", "40", "--out", str(folder / "games"), *options) == 0
    training = {**house.SMALL["training"], "updates": 8, "data": str(folder / "games")}
    for kind, config in LEARNERS.items():
        file = folder / f"{kind}.yaml"
        file.write_text(json.dumps({**house.SMALL, "task": task, "training": training, "algorithm": {"kind": kind, **config}}))  # JSON is YAML
        assert killed.loquent("train", str(file), "--out", str(folder / kind)) == 0
        made[kind] = file, folder / kind
    return made


@pytest.mark.parametrize("kind", LEARNERS)
def test_a_run_killed_again_and_again_is_the_same_run(kind, wholes, tmp_path):
    file, whole = wholes[kind]
    run, words = tmp_path / "run", ("train", str(file), "--out", str(tmp_path / "run"))
    draw = random.Random(kind)
    for moment in draw.sample(MOMENTS, len(MOMENTS)):
        count = draw.randint(1, max(1, house.MOMENTS[moment]))
        assert killed.loquent(*words, point=moment, count=count) == -9, f"it was not killed {moment}, call {count}"
        if (run / "config.yaml").exists():
            words = ("resume", str(run))
    assert killed.loquent(*words) == 0
    assert house.difference(whole, run) is None


@pytest.mark.parametrize("kind", LEARNERS)
def test_no_leaf_of_the_state_can_be_missing(kind, wholes, tmp_path):
    file, whole = wholes[kind]
    state = checkpoint.load(checkpoint.checkpoints(whole)[-1])
    trainer = Trainer(recipe.load(file), tmp_path)
    right = house.goes_on(trainer, state)
    assert house.same(right, house.goes_on(trainer, state)) is None, "nothing dropped, nothing seen"
    dropped = house.leaves(state)
    assert {"/".join(map(str, path)) for path in dropped} >= KEPT[kind]
    if kind == "chai":
        assert {("algorithm", "candidates", name) for name in ("features", "logprob")} <= {*dropped}
        assert len(state["algorithm"]["candidates"]["states"]) > 1
    assert [path for path in dropped if house.same(right, house.goes_on(trainer, house.without(state, path))) is None] == []
