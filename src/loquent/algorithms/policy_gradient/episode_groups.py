"""What GRPO and RLOO share: returns of whole episodes, compared among the episodes on one row.

There is no value function. Minibatches and micro-batches hold whole episodes, because an episode may have
several rows and its tokens are counted together.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.algorithms.policy_gradient.on_policy import (
    OnPolicy,
    OnPolicyConfig,
    divergence,
    of,
    reference_kl,
)
from loquent.core.algorithm import StepSettings
from loquent.core.settings import redefault, setting
from loquent.errors import LoquentError
from loquent.models.actor import Actor
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.learning.optimization import Parameters, trainable


@dataclass(frozen=True, kw_only=True)
class ComparedConfig(OnPolicyConfig):
    """The settings of learners that compare the answers to one row."""

    clip: float = setting(
        0.2, "ε: a ratio is clipped from below at 1 - ε", source="1707.06347 sec. 6.1", low=0
    )
    clip_high: float | None = setting(
        None,
        "a ratio is clipped from above at 1 + clip_high; none: 1 + clip",
        source="2503.14476 sec. 3.1: 0.28",
        low=0.0,
    )
    epochs: int = setting(
        1, "passes over one batch of episodes", source="2402.03300 sec. 4.2, a single update", low=1
    )
    minibatch: int | None = setting(
        None, "episodes in one gradient step; none: all episodes of the update", low=1
    )
    max_grad_norm: float | None = redefault(StepSettings, "max_grad_norm", 1.0, source="TRL")


class Episodes(NamedTuple):
    """The episodes of a batch: E of them."""

    number: Int64[Tensor, " B"]  # of the row's episode, from 0
    group: Int64[Tensor, " E"]
    length: Int64[Tensor, " E"]  # in action tokens

    def sums(self, column: Float[Tensor, "B T"]) -> Float[Tensor, " E"]:
        """The sum of a column over all rows of each episode."""
        return column.new_zeros(len(self.group)).index_add(0, self.number, column.sum(1))

    def of_tokens(self, batch: TokenBatch) -> Int64[Tensor, " N"]:
        """The number of each action token's episode."""
        return self.number[:, None].expand_as(batch.is_action)[batch.is_action]


def episodes_of(batch: TokenBatch) -> Episodes:
    """The episodes of a batch, in the order of their numbers.

    Raises:
        LoquentError: the batch does not say which rows of the task its episodes belong to.
    """
    if batch.group is None:
        raise LoquentError(
            "the batch has no `group`, so the answers to one row are not known; make it with token_batch"
        )
    names, number = batch.episode.unique(return_inverse=True)
    group = torch.zeros(len(names), dtype=torch.int64, device=number.device).scatter(0, number, batch.group)
    counts = batch.is_action.sum(1)
    return Episodes(number, group, torch.zeros_like(group).index_add(0, number, counts))


class ComparedAnswers(OnPolicy):
    """Base of the learners of the policy alone, by comparing the answers to one row."""

    least_answers = 2
    unused_of_model = ("critic", "lora.dropout")
    per_step = (
        "policy/loss",
        "policy/entropy",
        "policy/ratio",
        "policy/clip_fraction",
        "policy/kl_old",
        "gradient/norm",
    )

    def learned_parameters(self, model: Actor) -> Parameters:
        """The parameters of the policy."""
        return trainable(policy=model.policy)

    @property
    @abstractmethod
    def penalises(self) -> bool:
        """Whether the KL to the reference is subtracted from returns."""

    @abstractmethod
    def advantages(self, returns: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Float[Tensor, " E"]:
        """The advantage of each episode."""

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The scored batch with the advantage of its episode on every action token; pure."""
        episodes = episodes_of(batch)
        advantage = self.advantages(self.returns(batch, episodes), episodes.group)
        placed = advantage[episodes.number][:, None].expand_as(batch.reward)
        return replace(batch, advantage=torch.where(batch.is_action, placed, 0.0))

    def returns(self, batch: TokenBatch, episodes: Episodes) -> Float[Tensor, " E"]:
        """The return of each episode: R - β Σ_t (log policy - log reference), or R alone."""
        reward = torch.where(batch.is_action, batch.reward, 0.0)
        if self.penalises:
            reward = reward - self.config.beta * divergence(batch)
        return episodes.sums(reward)

    def episodes_to_learn(self, batch: TokenBatch, episodes: Episodes) -> Int64[Tensor, " L"]:
        """The numbers of the episodes to learn from; all of them here."""
        return torch.arange(len(episodes.group), device=episodes.group.device)

    def keeps(self, batch: TokenBatch) -> Bool[Tensor, " B"]:
        """Whether a row's episode is learned from, of those in a minibatch; all of them here."""
        return torch.ones_like(batch.ended)

    def minibatches(self, batch: TokenBatch, rows: Tensor) -> Iterator[Tensor]:
        """The rows of each gradient step: those of whole episodes."""
        episodes = episodes_of(batch)
        learned = self.episodes_to_learn(batch, episodes)
        for chosen in self.schedule(learned) if len(learned) else ():
            yield rows[torch.isin(episodes.number[rows], chosen)]

    def micro_batches(self, minibatch: TokenBatch) -> Sequence[Sequence[int]]:
        """The rows of each forward pass: whole episodes of similar length, of those that are kept.

        They have at most `token_budget` padded tokens, or are one episode.
        """
        lengths, kept = minibatch.real.sum(1).tolist(), self.keeps(minibatch).tolist()
        episodes: dict[int, list[int]] = {}
        for row, number in enumerate(minibatch.episode.tolist()):
            if kept[row]:
                episodes.setdefault(number, []).append(row)
        parts: list[list[int]] = []
        width = 0
        for rows in sorted(episodes.values(), key=lambda rows: -max(lengths[row] for row in rows)):
            if not parts or (len(parts[-1]) + len(rows)) * width > self.config.token_budget:
                parts.append([])
                width = max(lengths[row] for row in rows)
            parts[-1] += rows
        return parts

    def summary(self, batch: TokenBatch) -> dict[str, float]:
        """Logged values of the batch, before any gradient step."""
        episodes = episodes_of(batch)
        reward = episodes.sums(torch.where(batch.is_action, batch.reward, 0.0)).double()
        penalty = float(divergence(batch).double().sum()) if self.penalises else 0.0
        placed = torch.zeros_like(batch.reward, dtype=torch.float64)
        placed[batch.is_action] = of(batch.advantage, batch.is_action).double()
        advantage = episodes.sums(placed) / episodes.length
        kept = self.keeps(batch).new_zeros(len(reward)).scatter(0, episodes.number, self.keeps(batch))
        return {
            **reference_kl(batch),
            "kl/coefficient": self.config.beta,
            "reward/task": float(reward.mean()),
            "reward/penalty": 0.0 - self.config.beta * penalty / len(reward),
            "advantage/mean": float(advantage.mean()),
            "advantage/deviation": float(advantage.std(unbiased=False)),
            "groups/learned": float(kept[self.episodes_to_learn(batch, episodes)].sum()) / len(reward),
        }
