"""GRPO and RLOO in a game of many turns: an episode is one answer, compared with the others of its row."""

import pytest
import torch

from loquent.algorithms.policy_gradient.episode_groups import episodes_of
from loquent.training import recipes
from loquent.training.trainer import Trainer

WORDLE = (
    "task={kind: wordle}", "training.answers=4", "training.episodes=8", "algorithm.learning_rate=0.003",
    "decoding.max_new_tokens=6", "model.critic=none",
)  # fmt: skip


def trainer_of(learner, *more):
    algorithm = f"algorithm={{kind: {learner}, max_grad_norm: none}}"
    return Trainer(recipes.load("wordle_ppo", [algorithm, *WORDLE, *more], profile="smoke"))


@pytest.mark.parametrize("learner", ["grpo", "rloo"])
def test_all_turns_of_an_episode_share_its_advantage(learner):
    trainer = trainer_of(learner)
    played = trainer.experience.collect()
    assert all(len(episode.turns) > 2 for episode in played)
    batch = trainer.algorithm.prepare(trainer.experience.batch(played))
    episodes = episodes_of(batch)
    assert episodes.group.tolist() == sorted(episodes.group.tolist())
    assert episodes.group.bincount().tolist() == [4, 4]
    turns = batch.turn[batch.is_action].unique()
    assert len(turns) > 2
    returns = torch.tensor([episode.total(trainer.weights) for episode in played])
    expected = {
        "grpo": lambda r, others: r - torch.cat([others, r[None]]).mean(),
        "rloo": lambda r, others: r - others.mean(),
    }[learner]
    for number in range(8):
        own = batch.advantage[episodes.number == number][batch.is_action[episodes.number == number]]
        assert len(own.unique()) == 1
        group = [i for i in range(8) if i // 4 == number // 4 and i != number]
        wanted = expected(returns[number], returns[group])
        if learner == "grpo":
            wanted = wanted / (returns[[*group, number]].std() + 1e-4)
        assert float(own[0]) == pytest.approx(float(wanted), abs=1e-5)
    logs = trainer.algorithm.update(trainer.actor, batch)
    assert logs["policy/ratio_error"] < 1e-5
    assert logs["kl/reference"] == 0.0


@pytest.mark.parametrize("learner", ["grpo", "rloo"])
def test_turns_of_other_players_are_not_learned(learner):
    trainer = trainer_of(learner)
    batch = trainer.experience.batch(trainer.experience.collect())
    assert (batch.real & ~batch.is_action).any(), "feedback stands between the turns"
    assert not batch.reward[~batch.is_action].any()
    parts = trainer.algorithm.micro_batches(trainer.algorithm.prepare(batch))
    number = episodes_of(batch).number
    owners = [set(number[rows].tolist()) for rows in parts]
    assert sum(map(len, owners)) == len(set.union(*owners)) == 8  # no episode is in two micro-batches
