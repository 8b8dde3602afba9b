"""Learners play reading: actions are slots, whose texts are known only in a game."""

import json

import pytest

from loquent.cli.main import main

SMALL = """
name: small
task: {{kind: reading, limit: 20, slots: 16, {task}}}
algorithm:
  {{kind: {kind}, network: [8], games: 4, steps: 64, rollout: 16, minibatch: 16, features: {features}}}
training: {{updates: 1, evaluate_episodes: 4, final_episodes: 4}}
"""


@pytest.mark.parametrize(
    ("kind", "task"), [("sb3/maskable_ppo", "mode: hard"), ("sb3/ppo", "queries: question+memory")]
)
def test_a_learner_of_stable_baselines3(tmp_path, kind, task, capsys):
    pytest.importorskip("sb3_contrib")
    recipe, run = tmp_path / "small.yaml", tmp_path / "run"
    recipe.write_text(SMALL.format(kind=kind, task=task, features="{kind: hashed, dimension: 16}"))
    assert main(["train", str(recipe), "--out", str(run)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(run), "--episodes", "4", "--json"]) == 0
    values = json.loads(capsys.readouterr().out.splitlines()[-1])["values"]
    assert values["score/sufficient"] == values["reward/sufficient"]
    assert (values["reward/invalid"] == 0) or kind == "sb3/ppo"
