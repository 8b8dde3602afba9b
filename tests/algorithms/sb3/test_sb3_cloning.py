"""The supervised network beside the learners of actions: its loss by hand, that it learns what the teacher
does, and where it stops.
"""

import json
import math
import shutil
from pathlib import Path

import pytest
import torch

from helpers.states import same
from loquent.errors import BadSetting, LoquentError
from loquent.training import checkpoint, recipes
from loquent.training.train import train
from loquent.training.trainer import Trainer

pytest.importorskip("sb3_contrib")

WORDS = ("abc", "eel", "of", "xyz", "a")
ROWS = [
    {"tokens": list(word), "labels": ["vowel" if letter in "aeiou" else "other" for letter in word]}
    for word in WORDS
]
TASK = {
    "kind": "tagging", "source": "samples", "labels": ["vowel", "other"], "instruct": False,
    "samples": [{**row, "split": split} for split in ("train", "validation", "test") for row in ROWS],
}  # fmt: skip
ALGORITHM = {
    "kind": "sb3/cloning", "features": {"kind": "hashed", "dimension": 16}, "network": [8], "games": 2,
    "rollout": 6, "steps": 24, "minibatch": 6,
    "epochs": 2, "learning_rate": 0.01,
}  # fmt: skip


def written(folder, training=None, **more):
    whole = {
        "task": TASK,
        "algorithm": ALGORITHM,
        "training": {"updates": 4, "final_episodes": 5, "checkpoint_every": 1, **(training or {})},
        **more,
    }
    (folder / "recipe.yaml").write_text(json.dumps(whole))
    return recipes.load(folder / "recipe.yaml")


def test_the_loss_by_hand():
    from loquent.algorithms.sb3.cloning import negative_log_likelihood

    logits = torch.tensor([[math.log(3.0), 0.0], [0.0, 0.0]])  # 3/4 and 1/4; a half each
    assert negative_log_likelihood(logits, torch.tensor([0, 1])).item() == pytest.approx(
        (math.log(4 / 3) + math.log(2)) / 2
    )
    assert negative_log_likelihood(logits, torch.tensor([1, 1])).item() == pytest.approx(
        (math.log(4) + math.log(2)) / 2
    )


def test_it_learns_what_the_expert_does_and_looks_at_no_reward(tmp_path):
    made = written(
        tmp_path, {"updates": 30, "checkpoint_every": 0}, rewards={"length": {"weight": -1.0, "high": 1}}
    )
    run = train(made, tmp_path / "run", progress=False)
    first, last = run.metrics[0], run.metrics[-1]
    assert last["sb3/cloning_loss"] < 0.3 < first["sb3/cloning_loss"]
    assert last["sb3/agreement"] > 0.95 > first["sb3/agreement"]
    assert run.evaluation["values"]["score/token_f1"] == 1.0
    assert last["sb3/actions"] == 30 * 24


def test_it_goes_on_where_it_stopped(tmp_path):
    made = written(tmp_path)
    train(made, tmp_path / "whole", progress=False)
    shutil.copytree(tmp_path / "whole", tmp_path / "killed")
    shutil.rmtree(tmp_path / "killed" / "checkpoints" / "update-4")
    train(made, tmp_path / "killed", progress=False, resume=True)
    one, two = (checkpoint.load(tmp_path / name / "checkpoints" / "update-4") for name in ("whole", "killed"))
    assert same(one, two) is None
    assert (tmp_path / "whole" / "metrics.jsonl").read_text() == (
        tmp_path / "killed" / "metrics.jsonl"
    ).read_text()


def test_another_teacher_teaches_what_it_does(tmp_path):
    table = Trainer(written(tmp_path, {"teacher": "majority"})).algorithm.table
    assert table.teacher_actions() == [1, 1]  # "other" is the commonest label
    right = Trainer(written(tmp_path)).algorithm.table
    assert right.teacher_actions() == [TASK["labels"].index(game.row["labels"][0]) for game in right.games]


def test_what_is_no_action_cannot_be_taught(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # files under the current folder may name code
    (tmp_path / "mumbler.py").write_text(
        "from loquent.core.agent import Answer\n\n\nclass Mumbler:\n    name = 'mumbler'\n\n    def "
        "__init__(self, task):\n        pass\n\n    def answer(self, asked):\n        return "
        "[Answer('hm') for _ in asked]\n"
    )
    import sys

    sys.path.insert(0, str(tmp_path))
    try:
        trainer = Trainer(written(tmp_path, {"teacher": "mumbler:Mumbler"}))
        with pytest.raises(
            BadSetting, match=r"the teacher mumbler answers 'hm' in episode .*, which is not a legal action"
        ):
            trainer.update()
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("mumbler", None)


def test_a_step_clips_the_gradient_and_refuses_one_that_is_not_finite():
    from loquent.algorithms.sb3.gradient_step import take_step

    policy = torch.nn.Linear(2, 1, bias=False)
    policy.optimizer = torch.optim.SGD(policy.parameters(), lr=1.0)
    weight = policy.weight.detach().clone()
    with pytest.raises(LoquentError, match="training has diverged"):
        take_step(policy, policy.weight.sum() * float("nan"), 1.0)
    assert torch.equal(policy.weight, weight)
    take_step(policy, (policy.weight * torch.tensor([30.0, 40.0])).sum(), 1.0)
    torch.testing.assert_close(weight - policy.weight.detach(), torch.tensor([[0.6, 0.8]]))


def test_the_learners_of_the_library_share_the_step():
    from loquent.algorithms.sb3 import private_names

    folder = Path(private_names.__file__).parent
    assert [file.name for file in folder.glob("*.py") if "backward()" in file.read_text("utf-8")] == [
        "gradient_step.py"
    ]
