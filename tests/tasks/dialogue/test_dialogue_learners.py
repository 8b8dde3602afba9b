"""Dialogues are collected, cloned and learned from with either penalty, by the commands of the page."""

import json

import pytest

from loquent.cli.main import main

SMALL = ("model.layers=1", "model.width=16", "model.heads=2", "model.vocabulary=300")
SHORT = (
    "task.limit=100",
    "training.updates=2",
    "training.episodes=8",
    "training.evaluate_every=0",
    "training.final_episodes=4",
    "algorithm.total_steps=4",
    "algorithm.warmup=1",
    "algorithm.minibatch=8",
)


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A folder with recorded dialogues and a clone of them."""
    folder = tmp_path_factory.mktemp("dialogue")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        options = ["limit=100", "percentile=0.9", "instruct=false", "--agent", "dialogue/casual"]
        assert main(["collect", "dialogue", *options, "--episodes", "40", "--out", "dialogues"]) == 0
        assert main(["train", "dialogue_bc", "--out", "runs/dialogue_bc", *SMALL, *SHORT]) == 0
    return folder


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("rewards.yes_no=-2",),
        ("algorithm={kind: filtered_cloning, top: 0.3, total_steps: 4}",),
        ("algorithm={kind: monte_carlo, discount: turn}",),
    ],
    ids=["standard", "penalty", "filtered", "monte carlo"],
)
def test_learners_continue_from_the_clone(room, monkeypatch, changes, tmp_path):
    monkeypatch.chdir(room)
    short = [
        item
        for item in SHORT
        if not (changes and changes[0].startswith("algorithm=") and "algorithm." in item)
    ]
    assert main(["train", "dialogue_ilql", "--out", str(tmp_path / "run"), *short, *changes]) == 0
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    penalised = "rewards.yes_no=-2" in changes
    for line in lines:
        assert -29 <= line["data/return"] <= 0
        assert penalised or line["data/return"] >= -9
    scores = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert "reward/yes_no" in json.dumps(scores)
