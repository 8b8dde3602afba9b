"""A2C of QA-DQN's network: returns and the loss by hand, learning, resuming to the bit."""

import copy
import json
import random

import numpy as np
import pytest
import torch

from helpers import killed
from helpers.states import difference, same
from loquent.core.values import Record
from loquent.models.tokens.turns import turn_batch
from loquent.models.turns.turn_scores import ScoredTurns, score
from loquent.tasks.reading.network.heads import Scores
from loquent.training import recipes
from loquent.training.trainer import Trainer

SAMPLES = [
    {
        "context": "Ada built the mill. Ben sold the boat.",
        "question": question,
        "answers": [answer],
        "split": split,
    }
    for split in ("train", "validation", "test")
    for question, answer in (("Who built the mill?", "Ada"), ("Who sold the boat?", "Ben"))
]
RECIPE = {
    "task": {
        "kind": "reading",
        "source": "samples",
        "samples": SAMPLES,
        "memory": 1,
        "mode": "hard",
        "answer_phase": True,
    },
    "algorithm": {
        "kind": "turn_ppo",
        "preset": "qa_a2c",
        "learning_rate": 0.005,
        "network": "qa",
        "network_settings": {
            "width": 8,
            "word_size": 8,
            "character_size": 4,
            "encoder_convolutions": 1,
            "blocks": 1,
            "convolutions": 1,
            "hidden": 16,
            "pointer_hidden": 8,
            "pool": "max",
            "queries": "states",
            "matches": True,
            "dropout": 0.0,
            "skip": 0.0,
            "answers": 4,
        },
    },
    "training": {"updates": 4, "episodes": 16, "evaluate_every": 0, "final_episodes": 4},
}


MOMENTS = {"in_rollout": 9, "in_backward": 3, "in_tensors": 2, "after_rename": 1, "after_log": 1}


def write(folder, *, training=None, network=None, **algorithm):
    file = folder / "a2c.yaml"
    own = RECIPE["algorithm"]["network_settings"] | (network or {})
    parts = {
        "algorithm": RECIPE["algorithm"] | algorithm | {"network_settings": own},
        "training": RECIPE["training"] | (training or {}),
    }
    file.write_text(json.dumps(RECIPE | parts))
    return file


def trainer(folder, **algorithm):
    return Trainer(recipes.load(write(folder, **algorithm)))


def test_returns_run_to_the_end_and_answers_are_no_commands(tmp_path):
    made = trainer(tmp_path, gamma=0.9)
    episodes = made.experience.collect()
    batch = turn_batch(episodes, made.actor.inputs, made.actor.actions, made.weights)
    commands = made.algorithm.prepare(score(made.actor, batch))
    expected = []
    for episode in episodes:
        spoken = [turn for turn in episode.turns if turn.seat == "agent"]
        assert spoken[-1].rewards.keys() >= {"f1"}  # the answer
        reward = sum(turn.rewards.get("sufficient", 0.0) for turn in spoken)
        expected += [0.9 ** (len(spoken) - 2 - i) * reward for i in range(len(spoken) - 1)]
    assert commands.target.tolist() == pytest.approx(expected, abs=1e-6)
    assert (commands.choice >= 0).all()
    assert len(commands) == sum(len(list(episode.answers())) - 1 for episode in episodes)
    weights = Record(f1=1.0)  # an answer's reward belongs to the last command
    batch = turn_batch(episodes, made.actor.inputs, made.actor.actions, weights)
    last = [i for i in range(len(batch)) if i + 1 == len(batch) or batch.episode[i] != batch.episode[i + 1]]
    answers = [list(episode.answers())[-1].rewards["f1"] for episode in episodes]
    assert batch.reward[last].tolist() == pytest.approx(answers)
    assert batch.ended[last].all()


def test_the_loss_by_hand(tmp_path, monkeypatch):
    learner = trainer(tmp_path).algorithm
    command, query = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.5, -torch.inf]])
    command.requires_grad_()
    monkeypatch.setattr(
        learner.actor.policy, "forward", lambda batch: Scores(command, query, torch.tensor([0.25]))
    )
    features = {name: torch.zeros(1, 1, dtype=torch.int32) for name in ("question", "memory", "queries")}
    search = np.e / (1 + np.e)
    entropy = -search * np.log(search) - (1 - search) * np.log(1 - search)
    turns = ScoredTurns(
        features=features,
        choice=torch.tensor([1]),
        reward=torch.tensor([1.0]),
        ended=torch.tensor([True]),
        episode=torch.tensor([0]),
        legality=None,
        logprob=torch.tensor([np.log(search)], dtype=torch.float32),
        value=torch.tensor([0.25]),
        bootstrap=torch.tensor([0.0]),
    )
    parts = learner.loss(learner.actor, learner.prepare(turns))
    assert parts["policy/loss"].tolist() == pytest.approx([-0.75])
    assert parts["critic/loss"].tolist() == pytest.approx([0.75**2])
    assert parts["policy/entropy"].tolist() == pytest.approx([entropy])
    assert parts["total"].tolist() == pytest.approx([-0.75 + 0.5 * 0.75**2 - 0.01 * entropy], rel=1e-5)
    parts["policy/loss"].sum().backward()  # one epoch at a ratio of 1: A ∇ log π, the gradient of A2C
    assert command.grad[0].tolist() == pytest.approx([0.75 * (1 - search), -0.75 * (1 - search)], rel=1e-5)


def test_it_learns_and_goes_on_to_the_bit(tmp_path):
    one, two = trainer(tmp_path), trainer(tmp_path)
    first = one.update()
    two.restore(copy.deepcopy(one.state()))
    for _ in range(2):
        assert same(one.update(), two.update()) is None
    assert same(one.state(), two.state()) is None
    for _ in range(37):
        logs = one.update()
    assert logs["rollout/return"] > 0.85 > first["rollout/return"]
    assert logs["answer/loss"] < 0.5


def test_a_run_killed_at_several_moments_is_the_same_run(tmp_path):
    training = {"episodes": 4, "evaluate_every": 2, "evaluate_episodes": 2, "checkpoint_every": 1}
    training |= {"stop_metric": "return", "patience": 99}
    file = str(write(tmp_path, training=training, network={"dropout": 0.1, "skip": 0.1}))
    right, run = tmp_path / "right", tmp_path / "run"
    assert killed.loquent("train", file, "--out", str(right)) == 0
    draw = random.Random("qa_a2c")
    moments = draw.sample(sorted(MOMENTS.items()), len(MOMENTS))
    killed.again_and_again(file, run, [(moment, draw.randint(1, often)) for moment, often in moments])
    assert difference(right, run) is None
