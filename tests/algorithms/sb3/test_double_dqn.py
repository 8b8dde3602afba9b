"""Double DQN: its target by hand, and that the subclass learns toward it."""

import numpy as np
import pytest
import torch

from loquent.algorithms.sb3.double_dqn import DoubleDQN, double_q_target


def test_the_target_by_hand():
    # online chooses action 1 in the first state (4 > 1), which target values 1/2: 1 + 1/2 * 1/2 = 5/4; DQN's
    # own max would give 1 + 1/2 * 8 = 5 in the second action 0 (3 > -1), valued 2: 0 + 1/2 * 2 = 1; the third
    # game has ended: -1
    online = torch.tensor([[1.0, 4.0], [3.0, -1.0], [0.0, 9.0]])
    target = torch.tensor([[8.0, 0.5], [2.0, 7.0], [5.0, 6.0]])
    reward, ended = torch.tensor([[1.0], [0.0], [-1.0]]), torch.tensor([[0.0], [0.0], [1.0]])
    assert double_q_target(reward, ended, 0.5, online, target).tolist() == [[1.25], [1.0], [-1.0]]
    # what it must not be
    assert (reward + (1 - ended) * 0.5 * target.max(1, keepdim=True).values).tolist() == [
        [5.0],
        [3.5],
        [-1.0],
    ]


class Two:
    """Two states by turns, with a reward of the action's number; for the library's checks alone."""

    def __new__(cls):
        import gymnasium as gym

        class Env(gym.Env):
            observation_space, action_space = gym.spaces.Box(-9, 9, (1,), np.float32), gym.spaces.Discrete(2)

            def reset(self, *, seed=None, options=None):
                return np.zeros(1, np.float32), {}

            def step(self, action):
                return np.ones(1, np.float32), float(action), False, False, {}

        return Env()


def learner(library):
    """A linear Q-network with q(s) = [w0 s + b0, w1 s + b1], one remembered turn, and one step of gradient
    descent on it.
    """
    made = library(
        "MlpPolicy",
        Two(),
        learning_rate=0.25,
        batch_size=1,
        gamma=0.5,
        policy_kwargs={"net_arch": [], "optimizer_class": torch.optim.SGD, "optimizer_kwargs": {}},
    )
    layer, target = made.q_net.q_net[0], made.q_net_target.q_net[0]
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[1.0], [2.0]]))
        layer.bias.copy_(torch.tensor([0.0, 0.0]))
        target.weight.copy_(torch.tensor([[1.0], [0.5]]))
        target.bias.copy_(torch.tensor([0.0, 0.0]))
    one = np.ones((1, 1), np.float32)
    made.replay_buffer.add(one * 1, one * 1, np.array([0]), np.array([1.0]), np.array([False]), [{}])
    from stable_baselines3.common.logger import Logger

    made.set_logger(Logger(None, []))
    made.train(gradient_steps=1, batch_size=1)
    return layer.weight.flatten().tolist()


def test_one_step_by_hand():
    # s = s' = 1, action 0, reward 1. Online q(s') = [1, 2] chooses action 1, which target values 1/2: the
    # target is 1 + 1/2 * 1/2 = 5/4. q(s, 0) = 1, so the Huber loss's gradient is 1 - 5/4 = -1/4 on w0, and w0
    # becomes 1 + 1/4 * 1/4.
    assert learner(DoubleDQN) == pytest.approx([1.0625, 2.0])
    # SB3's own DQN: max of target q(s') = [1, 1/2] is 1, target 1.5, gradient -1/2
    from stable_baselines3 import DQN

    assert learner(DQN) == pytest.approx([1.125, 2.0])
