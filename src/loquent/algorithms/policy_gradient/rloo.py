"""RLOO for language models: REINFORCE whose baseline is the mean return of the other answers to the row.

Source: arXiv:2402.14740 sec. 3. An answer is one action: its log-probability is the sum over its tokens, and
its return holds the KL penalty, R = r - β Σ_t (log policy - log reference). With more than one gradient step
on a batch the ratio of whole answers is clipped as in PPO. An episode of many turns is one answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.episode_groups import ComparedAnswers, ComparedConfig, episodes_of
from loquent.algorithms.policy_gradient.on_policy import of
from loquent.algorithms.presets import PRESETS
from loquent.algorithms.shared import comparison, kl, losses
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.score.tokens import action_scores
from loquent.models.tokens.batch import TokenBatch

LOGGED = logged_keys.BUILT_IN["rloo"]


@dataclass(frozen=True, kw_only=True)
class Config(ComparedConfig):
    """Settings of `rloo`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["rloo"]
    beta: float = setting(
        0.05, "coefficient of the KL penalty in returns; 0: none", source="TRL, RLOOConfig", low=0.0
    )
    normalize_advantages: bool = setting(
        False, "centre and scale advantages over all episodes of the update", source="TRL, RLOOConfig"
    )


def answer_log_ratio(
    log_ratio: Float[Tensor, " N"], number: Int64[Tensor, " N"], length: Int64[Tensor, " E"]
) -> Float[Tensor, " E"]:
    """The log-ratio of each whole answer: the sum over its tokens."""
    return log_ratio.new_zeros(len(length)).index_add(0, number, log_ratio)


class RLOO(ComparedAnswers):
    """RLOO on the policy of an `Actor`, without dropout and without a critic."""

    Config: ClassVar[type] = Config
    name = "rloo"
    penalises = True

    def advantages(self, returns: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Float[Tensor, " E"]:
        """R_i less the mean of the others (2402.14740 sec. 3)."""
        advantage = comparison.leave_one_out(returns, group)
        if not self.config.normalize_advantages or len(advantage) < 2:
            return advantage
        return (advantage - advantage.mean()) / (advantage.std() + comparison.EPSILON)

    def divisor(self, minibatch: TokenBatch) -> float:
        """The answers."""
        return len(minibatch.episode.unique())

    def loss(self, model: Actor, batch: TokenBatch) -> dict[str, Float[Tensor, " N"]]:
        """The loss as "total", and the logged values: a number for each action token.

        The tokens of an answer share its loss equally.
        """
        scores = action_scores(model.policy, batch)  # one forward pass
        chosen, episodes = batch.is_action, episodes_of(batch)
        number = episodes.of_tokens(batch)
        new, old = self.logprobs(scores, batch)
        log_ratio = answer_log_ratio(new - old, number, episodes.length)
        advantage = of(batch.advantage, chosen).new_zeros(len(log_ratio))
        advantage[number] = of(batch.advantage, chosen)  # every token of an answer has the same
        policy, ratio, clipped = losses.clipped_surrogate(
            log_ratio, torch.zeros_like(log_ratio), advantage, self.config.clip, self.config.clip_high
        )
        return {
            "total": (policy / episodes.length)[number],
            "policy/loss": policy[number],
            "policy/entropy": scores.entropy,
            "policy/ratio": ratio[number],
            "policy/clip_fraction": clipped[number],
            "policy/kl_old": kl.k3(old, new),
        }
