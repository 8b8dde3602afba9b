"""Every learner that reads recorded episodes learns from those of every task: nothing in it knows a task."""

import math
from dataclasses import fields

import pytest
import torch

from loquent.agents.baselines import Random
from loquent.core import episode, registry
from loquent.core.rollout.loop import games, play
from loquent.errors import BadSetting
from loquent.training import recipes
from loquent.training.run import load_run
from loquent.training.train import train

KINDS = {name: registry.find("algorithm", name) for name in registry.names("algorithm")}
# those that compare answers have `tests/training/recorded`
LEARNERS = [name for name, kind in KINDS.items() if "data" in kind.reads and kind.least_answers == 1]
TASKS = registry.names("task")
SMALL = (
    "model={layers: 1, width: 16, heads: 2, context: 1024, vocabulary: 260, tokenizer_texts: 50, "
    "critic: none, reference: none}",
    "decoding={max_new_tokens: 4}",
    "training={updates: 2, episodes: 6, evaluate_every: 0, final_episodes: 2}",
    "algorithm.learning_rate=0.01",
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A file of six games a random player played, for each task."""
    folder = tmp_path_factory.mktemp("recorded")
    for name in TASKS:
        task = registry.find("task", name)()
        (folder / name).mkdir()
        played = play(task, games(task.rows("train")[:6]), Random(task), seed=1)
        episode.write(folder / name / "episodes.jsonl", played)
    return folder


def test_there_are_learners_and_tasks():
    assert {"supervised", "cloning", "filtered_cloning", "monte_carlo", "ilql", "cql", "psi"} <= set(LEARNERS)
    assert {"ilql_utterance", "decision_transformer", "chai"} <= set(LEARNERS)
    assert "ppo" not in LEARNERS
    assert {"wordle", "generation"} <= set(TASKS)


def test_settings_of_acting_are_settings_of_their_learner():
    for name, kind in KINDS.items():
        assert set(kind.acting) <= {field.name for field in fields(kind.Config)}, name
    assert "adv_beta" in KINDS["ilql"].acting
    assert not KINDS["ppo"].acting


def test_an_evaluation_changes_how_values_act_and_nothing_else(recorded, tmp_path):
    given = ["task={kind: wordle}", "algorithm={kind: ilql, initial_value: 0.0}", *SMALL]
    run = train(
        recipes.load("wordle_clone", [*given, f"training.data={recorded / 'wordle'}"]),
        tmp_path / "run",
        progress=False,
    )
    found = [
        [one.answers()[0].text for one in run.evaluate(episodes=6, overrides=(text,)).episodes]
        for text in ("algorithm.adv_beta=16", "algorithm.adv_beta=0", "algorithm.adv_beta=10000")
    ]
    assert found[0] == [one.answers()[0].text for one in run.evaluate(episodes=6).episodes]
    assert found[1] != found[2]
    with pytest.raises(BadSetting, match=r"'algorithm.tau=0.9' cannot change .*, and algorithm.adv_beta, "):
        run.evaluate(overrides=("algorithm.tau=0.9",))


@pytest.mark.sweep(10)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_every_offline_learner_learns_from_every_task(learner, task, recorded, tmp_path):
    more = ["algorithm.top=0.5"] if learner == "filtered_cloning" else []
    given = [
        f"task={{kind: {task}}}",
        f"algorithm={{kind: {learner}}}",
        *SMALL,
        f"training.data={recorded / task}",
        *more,
    ]
    run = train(recipes.load("wordle_clone", given), tmp_path / "run", progress=False)
    assert len(run.metrics) == 2
    assert all(math.isfinite(value) for line in run.metrics for value in line.values())
    assert run.metrics[0]["gradient/norm"] > 0
    assert load_run(run.folder).evaluate(episodes=2).n == 2
    first = load_run(run.folder).agent().module.state_dict()
    assert all(bool(torch.isfinite(tensor).all()) for tensor in first.values())
