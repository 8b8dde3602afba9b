"""What both reference learners share: the networks and PPO's arithmetic, as every such program writes it."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Settings:
    """RL4LMs notes §2 (IMDB) and §1.11: the values of all our comparisons."""

    new: int = 48
    epochs: int = 5
    gamma: float = 0.99
    lam: float = 0.95
    clip: float = 0.2
    value_coefficient: float = 0.5
    beta: float = 0.1
    learning_rate: float = 1e-6
    max_grad_norm: float = 0.5


@dataclass
class Rollout:
    """Episodes of one length: prompts and answers [B, P + T], and of the answers [B, T] what was measured and
    formed.
    """

    tokens: Tensor
    wide: int  # P
    logprob: Tensor
    value: Tensor
    reference: Tensor
    advantage: Tensor
    target: Tensor


class Learner:
    """A policy, a value network (a second trunk and a linear layer) and a frozen reference, with AdamW over
    the first two.
    """

    def __init__(self, policy: Any, head: nn.Linear, settings: Settings) -> None:
        self.policy, self.trunk, self.head = policy, copy.deepcopy(policy.base_model), copy.deepcopy(head)
        self.frozen = copy.deepcopy(policy).requires_grad_(False)
        self.settings = settings
        self.parameters = [p for part in (self.policy, self.trunk, self.head) for p in part.parameters()]
        self.optimizer = torch.optim.AdamW(self.parameters, lr=settings.learning_rate, weight_decay=1e-6)

    def rollout(
        self, tokens: Tensor, wide: int, logprob: Tensor, value: Tensor, reference: Tensor, task: Tensor
    ) -> Rollout:
        """Penalise, place the task's reward on the last token, and estimate advantages (RL4LMs notes §1.8 and
        §1.9).
        """
        of = self.settings
        reward = -of.beta * (logprob - reference)
        reward[:, -1] += task
        advantage, after = torch.zeros_like(reward), torch.zeros(len(reward), device=reward.device)
        for t in reversed(range(reward.shape[1])):
            following = value[:, t + 1] if t + 1 < reward.shape[1] else 0.0
            after = reward[:, t] + of.gamma * following - value[:, t] + of.gamma * of.lam * after
            advantage[:, t] = after
        return Rollout(tokens, wide, logprob, value, reference, advantage, advantage + value)

    def loss(self, new: Tensor, value: Tensor, old: Tensor, advantage: Tensor, target: Tensor) -> Tensor:
        """The clipped surrogate and the squared error of one minibatch, advantages normalised in it (RL4LMs
        notes §1.11).
        """
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        ratio = (new - old).exp()
        bounded = ratio.clamp(1 - self.settings.clip, 1 + self.settings.clip)
        surrogate = -torch.minimum(ratio * advantage, bounded * advantage).mean()
        return surrogate + self.settings.value_coefficient * (value - target).square().mean()

    def step(self, loss: Tensor) -> None:
        """One gradient step."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.max_grad_norm)
        self.optimizer.step()

    def gradient(self, loss: Tensor) -> Tensor:
        """All gradients of a loss as one vector; nothing is learnt."""
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        return torch.cat(
            [
                p.grad.flatten() if p.grad is not None else torch.zeros_like(p).flatten()
                for p in self.parameters
            ]
        )
