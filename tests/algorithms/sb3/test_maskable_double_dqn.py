"""Double DQN among legal actions: the target, the drawn actions and the exploring agent follow the mask."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from gymnasium import spaces
from stable_baselines3.common.logger import Logger

from loquent.adapters.sb3 import Games
from loquent.agents.sb3 import Chooser
from loquent.algorithms.sb3.maskable_double_dqn import MaskableDoubleDQN
from loquent.core.actions import Texts, bitset
from loquent.core.seeding import Key

ONE = np.ones((1, 1), np.float32)


def model(texts=("a", "b", "c"), **settings):
    """A linear network q(s) = s w over one input, and games without a table."""
    games = Games(1, spaces.Box(-9, 9, (1,), np.float32), lambda _: ONE[0], Texts(texts))
    linear = {"net_arch": [], "optimizer_class": torch.optim.SGD, "optimizer_kwargs": {}}
    made = MaskableDoubleDQN(
        "MlpPolicy", games, policy_kwargs=linear, gamma=0.5, learning_rate=0.25, **settings
    )
    layers = made.q_net.q_net[0], made.q_net_target.q_net[0]
    for layer, weights in zip(layers, ([1.0, 2.0, 3.0], [1.0, 0.5, 8.0]), strict=True):
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weights)[:, None])
            layer.bias.zero_()
    made.set_logger(Logger(None, []))
    return made


@pytest.mark.parametrize(
    ("legal", "learned"),
    [
        ((0,), 1.125),  # y = 1 + 1/2 * 1 = 1.5, an error of 1/2
        ((0, 1), 1.0625),  # action 1 is the best, which the target network values 1/2: y = 1.25
        ((0, 1, 2), 1.25),  # action 2, valued 8: y = 5, but Huber's gradient is at most 1
    ],
)
def test_the_target_chooses_among_legal_actions(legal, learned):
    # s = s' = 1, action 0, reward 1, gamma 1/2; online q(s') = [1, 2, 3], target q(s') = [1, 1/2, 8].
    # w0 becomes 1 + 1/4 of the error, whose gradient Huber's loss bounds by 1.
    made = model()
    info = {"legal": bitset(legal, 3)}
    made.replay_buffer.add(ONE, ONE, np.array([0]), np.array([1.0]), np.array([False]), [info])
    made.train(gradient_steps=1, batch_size=1)
    assert made.q_net.q_net[0].weight.flatten().tolist() == pytest.approx([learned, 2.0, 3.0])


@pytest.mark.parametrize(("share", "chosen"), [(0.0, {1}), (1.0, {0, 1})])
@pytest.mark.parametrize("starts", [0, 10])
def test_actions_are_drawn_among_legal_ones(monkeypatch, share, chosen, starts):
    made = model()
    monkeypatch.setattr(Games, "action_masks", lambda _: np.array([[True, True, False]]))
    made._last_obs, made.exploration_rate = ONE, share
    made.action_space.seed(0)
    actions = [made._sample_action(starts)[0] for _ in range(40)]
    assert {int(action) for action in actions for action in action} == ({0, 1} if starts else chosen)


def test_an_exploring_agent_draws_no_masked_action():
    actions = Texts(("a", "b", "c"))
    scores = np.array([0.5, -np.inf, 0.0])
    agent = Chooser(
        "x", lambda seen: np.tile(scores, (len(seen), 1)), greedy=True, actions=actions, explore=1.0
    )
    asked = [
        SimpleNamespace(actions=actions, observation=SimpleNamespace(legal=None), key=Key(i))
        for i in range(40)
    ]
    assert {answer.text for answer in agent.answer(asked)} == {"a", "c"}
