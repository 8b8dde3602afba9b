"""Cloning over actions: the policy network of the other learners, trained on what a teacher does by its likelihood. No reward is looked at."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from loquent.algorithms.sb3.learners import Learner
from loquent.algorithms.sb3.settings import CloningSettings
from loquent.logged import Logged

LOGGED = {
    "sb3/cloning_loss": Logged("nats per action", "cloning: mean negative log-likelihood of the teacher's actions, before each gradient step"),
    "sb3/agreement": Logged("share of actions", "cloning: those where the likeliest action is the teacher's, before each gradient step"),
}


class Cloning(Learner):
    """A supervised network on the same vectors: the task's expert plays (or `training.teacher`), and its actions are made likely."""

    Config = CloningSettings
    name = "sb3/cloning"
    smoke = (*Learner.smoke, "algorithm.minibatch=8")
    reads: ClassVar[tuple[str, ...]] = ("expert",)

    @classmethod
    def library(cls) -> type:
        from stable_baselines3 import PPO as Theirs  # its network and its Adam; nothing else of it is used

        return Theirs

    def _cycle(self) -> None:
        """One collection of the teacher's games and the learning after it."""
        model, config, table = self.actor.model, self.config, self.table
        assert table is not None
        seen, right = [], []
        for _ in range(config.rollout):
            observations, chosen = table.observations, table.taught()
            seen.append(self.actor.pictures(observations))
            right.append(torch.as_tensor(chosen, device=self.actor.device))
            table.act(chosen)
        model.num_timesteps += config.rollout * config.games
        model._update_current_progress_remaining(model.num_timesteps, model._total_timesteps)
        model._update_learning_rate(model.policy.optimizer)
        self._learn(torch.cat(seen), torch.cat(right))

    def _learn(self, seen: Tensor, right: Tensor) -> None:
        """`epochs` passes over [n, ...] observations and [n] actions."""
        model, config = self.actor.model, self.config
        model.policy.set_training_mode(True)
        losses, hits = [], []
        for _ in range(config.epochs):
            for some in torch.randperm(len(right), device=right.device).split(config.minibatch):
                logits = model.policy.get_distribution(seen[some]).distribution.logits
                loss = negative_log_likelihood(logits, right[some])
                model.policy.optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.policy.parameters(), config.gradient_norm)
                model.policy.optimizer.step()
                losses.append(loss.item())
                hits.append((logits.argmax(-1) == right[some]).float().mean().item())
        model._n_updates += config.epochs
        model.logger.record("train/cloning_loss", float(np.mean(losses)))
        model.logger.record("train/agreement", float(np.mean(hits)))


def negative_log_likelihood(logits: Tensor, right: Tensor) -> Tensor:
    """The mean of -log p(right action) over f32[n, actions] logits and i64[n] actions, in nats."""
    return -logits.log_softmax(-1).gather(1, right[:, None]).mean()
