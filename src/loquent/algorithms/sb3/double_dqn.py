"""Double DQN: a subclass of Stable-Baselines3's DQN with another target."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from stable_baselines3 import DQN
from torch import Tensor
from torch.nn.functional import smooth_l1_loss

from loquent.algorithms.sb3 import private_names
from loquent.algorithms.sb3.gradient_step import take_step


def double_q_target(
    reward: Tensor, ended: Tensor, gamma: float | Tensor, online: Tensor, target: Tensor
) -> Tensor:
    """The target y of Double DQN (arXiv:1509.06461v3 eq. 4).

    The online network chooses the next action, and the target network gives its value.

    Args:
        reward, ended: f32[N, 1]; ended is 1 if the state has no successor.
        online, target: f32[N, actions], both networks' values of the next state.
    """
    chosen = online.argmax(dim=1, keepdim=True)
    return reward + (1 - ended) * gamma * target.gather(1, chosen)


class DoubleDQN(DQN):
    """DQN of Stable-Baselines3 with another target.

    Replay, optimizer, schedules, Huber loss and the limit of clipping are the library's.
    """

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Learn in `gradient_steps` steps, each on a new batch of the replay."""
        self.policy.set_training_mode(True)
        private_names.update_learning_rate(self)
        losses, values = [], []
        for _ in range(gradient_steps):
            assert self.replay_buffer is not None  # set before learning begins
            drawn = self.replay_buffer.sample(batch_size, env=private_names.normalizer(self))
            with torch.no_grad():
                following = drawn.next_observations
                gamma = drawn.discounts if drawn.discounts is not None else self.gamma
                target = double_q_target(
                    drawn.rewards, drawn.dones, gamma, self.next_values(drawn), self.q_net_target(following)
                )
            current = self.q_net(drawn.observations).gather(1, drawn.actions.long())
            loss = smooth_l1_loss(current, target)
            take_step(self.policy, loss, self.max_grad_norm)
            losses.append(loss.item())
            values.append(current.detach().mean().item())
        private_names.count_updates(self, gradient_steps)
        self.logger.record("train/loss", np.mean(losses))
        self.logger.record("train/value", np.mean(values))

    def next_values(self, drawn: Any) -> Tensor:
        """f32[N, actions]: the online values that choose the next action of N turns of the replay."""
        values: Tensor = self.q_net(drawn.next_observations)
        return values
