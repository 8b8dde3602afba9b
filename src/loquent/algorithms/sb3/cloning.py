"""Cloning over actions: the policy network imitates a teacher by likelihood, without rewards.

The network is that of the other learners of Stable-Baselines3. So is the optimizer, with the library's
schedule; its state is saved with theirs.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from loquent.algorithms import logged_keys
from loquent.algorithms.sb3 import private_names
from loquent.algorithms.sb3.gradient_step import take_step
from loquent.algorithms.sb3.learners import Learner
from loquent.algorithms.sb3.settings import CloningSettings

LOGGED = logged_keys.BUILT_IN["sb3/cloning"]


class Cloning(Learner):
    """A supervised policy network. The task's expert, or `training.teacher`, plays and gives the actions."""

    Config = CloningSettings
    name = "sb3/cloning"
    smoke = (*Learner.smoke, "algorithm.minibatch=8")
    reads = ("expert",)

    @classmethod
    def library(cls) -> type:
        from stable_baselines3 import PPO as Theirs  # only its network and its Adam

        return Theirs

    def _cycle(self) -> None:
        """One collection of the teacher's games, and learning from it."""
        model, config, table = self.actor.model, self.config, self.table
        assert table is not None
        inputs, actions = [], []
        for _ in range(config.rollout):
            observations, chosen = table.observations, table.teacher_actions()
            inputs.append(self.actor.inputs(observations))
            actions.append(torch.as_tensor(chosen, device=self.actor.device))
            table.act(chosen)
        model.num_timesteps += config.rollout * config.games
        private_names.update_progress(model)
        private_names.update_learning_rate(model)
        self._learn(torch.cat(inputs), torch.cat(actions))

    def _learn(self, inputs: Tensor, actions: Tensor) -> None:
        """Learn in `epochs` passes over [n, ...] observations and [n] actions."""
        model, config = self.actor.model, self.config
        model.policy.set_training_mode(True)
        losses, hits = [], []
        for _ in range(config.epochs):
            for rows in torch.randperm(len(actions), device=actions.device).split(config.minibatch):
                logits = model.policy.get_distribution(inputs[rows]).distribution.logits
                loss = negative_log_likelihood(logits, actions[rows])
                take_step(model.policy, loss, config.max_grad_norm)
                losses.append(loss.item())
                hits.append((logits.argmax(-1) == actions[rows]).float().mean().item())
        private_names.count_updates(model, config.epochs)
        model.logger.record("train/cloning_loss", float(np.mean(losses)))
        model.logger.record("train/agreement", float(np.mean(hits)))


def negative_log_likelihood(logits: Tensor, actions: Tensor) -> Tensor:
    """The mean of -log p(action) over f32[n, actions] logits and i64[n] actions, in nats."""
    return -logits.log_softmax(-1).gather(1, actions[:, None]).mean()
