"""Two processes that learn one run together are one process with the doubled batch."""

import json
import re
import shutil

import pytest
import torch
from safetensors.torch import load_file

from helpers import together
from loquent.core import registry
from loquent.errors import BadSetting
from loquent.files.machine import parallel
from loquent.training import checkpoint, recipes
from loquent.training.run import load_run
from loquent.training.train import train
from loquent.training.trainer import Trainer

RECIPE = {
    "task": {"kind": "wordle", "limit": 20, "instruct": False},
    "model": {
        "layers": 1,
        "width": 16,
        "heads": 2,
        "context": 128,
        "vocabulary": 260,
        "critic": "none",
        "reference": "none",
        "dropout": 0.0,
    },
    "decoding": {"max_new_tokens": 6},
    "algorithm": {"kind": "ilql", "minibatch": 4, "learning_rate": 0.01},
    "training": {
        "updates": 4,
        "episodes": 8,
        "evaluate_every": 2,
        "evaluate_episodes": 4,
        "final_episodes": 4,
        "checkpoint_every": 1,
        "keep": 9,
    },
}


@pytest.mark.parametrize("backbones", ["separate", "lora", "frozen"])
def test_two_processes_take_the_steps_of_one_with_the_doubled_batch(backbones, tmp_path):
    assert together.run(together.steps, 2, tmp_path, backbones) == [0, 0]
    one, two = (load_file(tmp_path / f"{rank}.safetensors") for rank in (0, 1))
    alone = together.after_steps(backbones)
    assert one.keys() == two.keys() == alone.keys()
    assert all(torch.equal(one[name], two[name]) for name in one), "both are one model, to the bit"
    assert all(torch.allclose(one[name], alone[name], atol=1e-5) for name in one)
    moved = together.after_steps("shared") if backbones == "separate" else {}
    assert not all(torch.allclose(one[name], moved[name], atol=1e-5) for name in moved) or not moved, (
        "the comparison can fail"
    )


def test_each_process_drops_units_of_its_own(tmp_path):
    names = ["ilql", "cloning"]
    assert together.run(together.masks, 2, tmp_path, names) == [0, 0]
    one, two = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    for name in names:
        assert {*one[name], *two[name]} == {False, True}
        assert one[name] != two[name]


def test_a_process_without_anything_to_count_under_a_name_counts_nothing(tmp_path):
    assert together.run(together.chai, 2, tmp_path) == [0, 0]
    one, two = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert one == two
    alone = together.of_chai()
    assert alone["answers/best_q"] != 0.0
    assert one == pytest.approx(alone, rel=1e-4)


def test_a_process_whose_answers_are_all_left_out_logs_what_the_others_log(tmp_path):
    assert together.run(together.overlong, 2, tmp_path) == [0, 0]
    one, two = (json.loads((tmp_path / f"{rank}.json").read_text()) for rank in (0, 1))
    assert one == two
    alone = together.of_overlong()
    assert all({"kl/loss", "policy/ratio_error"} <= logs.keys() for logs in alone)
    for ours, theirs in zip(one, alone, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("device", "expected"), [("cpu", "gloo"), ("cuda", "nccl"), ("cuda:1", "gloo")])
def test_the_backend_is_that_of_the_model_s_device(device, expected, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert parallel.backend(torch.device(device)) == expected


@pytest.fixture(scope="module")
def given(wordle_games, tmp_path_factory):
    file = tmp_path_factory.mktemp("given") / "recipe.yaml"
    file.write_text(json.dumps({**RECIPE, "training": {**RECIPE["training"], "data": str(wordle_games)}}))
    return file


@pytest.mark.sweep("ilql")
@pytest.mark.parametrize("kind", ["ilql", "cloning", "dpo", "kto", "orpo"])
def test_a_whole_run_of_two_processes_is_that_of_one_and_resumes_to_the_bit(kind, given, tmp_path):
    reference = "copy" if registry.find("algorithm", kind).scored else "none"
    overrides = [
        f"algorithm={{kind: {kind}, minibatch: {2 if kind == 'dpo' else 4}, learning_rate: 0.01}}",
        f"model.reference={reference}",
    ]  # of dpo each step has one pair, and so one process has none
    alone = train(recipes.load(given, overrides), tmp_path / "alone", progress=False)
    assert together.run(together.training, 2, tmp_path / "two", str(given), overrides, False) == [0, 0]
    two = load_run(tmp_path / "two" / "run")
    for ours, theirs in zip(alone.metrics, two.metrics, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-2, abs=1e-3)
    assert checkpoint.load(two.folder / "checkpoints" / "update-4")["machine"]["processes"] == 2
    resumes_to_the_bit(two, given, overrides)


@pytest.mark.sweep("cloning")
@pytest.mark.parametrize("kind", ["ilql", "cloning"])
def test_a_run_of_two_processes_with_dropout_resumes_to_the_bit(kind, given, tmp_path):
    overrides = ["model.dropout=0.1", f"algorithm={{kind: {kind}, minibatch: 4, learning_rate: 0.01}}"]
    assert together.run(together.training, 2, tmp_path / "two", str(given), overrides, False) == [0, 0]
    resumes_to_the_bit(load_run(tmp_path / "two" / "run"), given, overrides)


def resumes_to_the_bit(two, given, overrides):
    """A run of two processes goes on from its second update as it did before."""
    state = checkpoint.load(two.folder / "checkpoints" / "update-4")
    for old in ("update-3", "update-4"):
        shutil.rmtree(two.folder / "checkpoints" / old)
    before = {name: (two.folder / name).read_bytes() for name in ("metrics.jsonl", "evaluation.json")}
    assert together.run(together.training, 2, two.folder.parent, str(given), overrides, True) == [0, 0]
    assert {name: (two.folder / name).read_bytes() for name in before} == before
    again = checkpoint.load(two.folder / "checkpoints" / "update-4")
    assert all(torch.equal(again["actor"][name], tensor) for name, tensor in state["actor"].items())


def test_more_processes_than_rows_are_refused(given, tmp_path, monkeypatch):
    monkeypatch.setattr("loquent.files.machine.parallel.size", lambda: 5)
    with pytest.raises(BadSetting, match=r"at least the 5 processes"):
        Trainer(recipes.load(given))
    with pytest.raises(
        BadSetting,
        match=r"sb3/ppo learns in one process, and 5 were started; in several .* learn .*ilql.*, ppo",
    ):
        Trainer(recipes.load(given, ["training.data=", "algorithm={kind: sb3/ppo}"]))


CLONING = [
    "algorithm={kind: cloning, minibatch: 4, learning_rate: 0.01}",
    "parallel.patience=20",
    "training.updates=3",
    "training.evaluate_every=3",
]
LOST = {
    "dies": (-9, r"process 1 has ended without a word, or is frozen; the run goes on with `loquent resume`"),
    "hangs": (2, r"process 1 did not come within \d+ s \(parallel\.patience\)"),
    "fails": (2, r"process 1 has failed: BadReward: a reward of this process"),
    "": (0, ""),
}


@pytest.fixture(scope="module")
def alone(given):
    """A run that no other process helped with."""
    return train(recipes.load(given, CLONING), given.parent / "alone", progress=False)


@pytest.mark.sweep("dies")
@pytest.mark.parametrize("trouble", LOST)
def test_two_go_on_with_the_run_of_one_and_if_a_process_is_lost_one_goes_on_again(
    trouble, given, alone, tmp_path
):
    run = tmp_path / "run"
    shutil.copytree(alone.folder, run)
    for later in ("update-2", "update-3"):
        shutil.rmtree(run / "checkpoints" / later)
    code, message = LOST[trouble]
    lost = getattr(together, trouble) if trouble else None
    codes, texts, seconds = together.launch(["resume", run], 2, tmp_path, lost)
    assert codes == [2 if trouble else 0, code], texts
    assert re.search(message, texts[0])
    assert seconds < 30
    if trouble:
        assert not (run / "checkpoints" / "update-3").exists()
        train(recipes.load(given, CLONING), run, resume=True, progress=False)
    for ours, theirs in zip(alone.metrics, load_run(run).metrics, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-2, abs=1e-3)
    remarks = (run / "remarks.jsonl").read_text()
    assert "1 processes wrote the checkpoint, and 2 go on" in remarks
    assert not trouble or "2 processes wrote the checkpoint, and 1 go on" in remarks
