"""GRPO for language models: clipped ratios, and advantages over the other answers to the same row.

Source: arXiv:2402.03300 sec. 4.1 (outcome supervision). Its successors are settings: Dr. GRPO
(arXiv:2503.20783), DAPO (arXiv:2503.14476) and GSPO (arXiv:2507.18071). An episode of many turns is one
answer: its return is that of the whole episode.

The KL in the loss is k3, by default times the ratio (arXiv:2512.02556). Its gradient is then that of
KL(policy, reference), and the optimum is softmax(log reference + r / β), as with the KL in the reward and as
for PPO. Without the ratio (`kl_correction: false`), k3 has no gradient through the sampling. Its gradient is
then that of KL(reference, policy), so the optimum maximises E[r] - β KL(reference, policy).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.episode_groups import (
    ComparedAnswers,
    ComparedConfig,
    Episodes,
    episodes_of,
)
from loquent.algorithms.policy_gradient.on_policy import START, of
from loquent.algorithms.presets import PRESETS
from loquent.algorithms.shared import comparison, kl, losses
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.models.actor import Actor
from loquent.models.score.one_pass import Scores
from loquent.models.score.tokens import action_losses, action_scores
from loquent.models.tokens.batch import TokenBatch

LOGGED = logged_keys.BUILT_IN["grpo"]


@dataclass(frozen=True, kw_only=True)
class Config(ComparedConfig):
    """Settings of `grpo`."""

    presets: ClassVar[Mapping[str, Record]] = PRESETS["grpo"]
    deviation: str = setting(
        "group",
        "advantages are divided by the deviation of the returns of the group, of the batch, or not at all",
        source="2402.03300 sec. 4.1.2; none: 2503.20783",
        choices=("group", "batch", "none"),
    )
    length: str = setting(
        "answer",
        "mean over tokens: of each answer, then over answers; over all tokens; or a sum divided by the "
        "answers and max_new_tokens, a constant",
        source="2402.03300 eq. 3; token: 2503.14476 sec. 3.3; constant: 2503.20783",
        choices=("answer", "token", "constant"),
    )
    importance: str = setting(
        "token",
        "the ratio: of each token, or of the whole answer, by the mean of its log-ratios (GSPO)",
        source="2402.03300 eq. 3; sequence: 2507.18071 eq. 7",
        choices=("token", "sequence"),
    )
    kl: str = setting(
        "loss",
        "where the KL to the reference counts: by k3 in the loss, or by k1 in the return",
        source="2402.03300 eq. 4",
        choices=("loss", "reward"),
    )
    kl_correction: bool = setting(
        True,
        "multiply k3 in the loss by the ratio, so that its gradient is that of KL(policy, reference); "
        "without, it is that of KL(reference, policy), which has another optimum",
        source="2512.02556; TRL, GRPOConfig; 2402.03300 has none",
    )
    beta: float = setting(
        0.04, "coefficient of the KL to the reference; 0: none", source="2402.03300 sec. 4.2", low=0.0
    )
    drop_equal: bool = setting(
        False,
        "leave out the answers to a row that all have the same return, without playing others instead",
        source="2503.14476 sec. 3.2",
    )


def sequence_ratio(
    log_ratio: Float[Tensor, " N"], number: Int64[Tensor, " N"], length: Int64[Tensor, " E"]
) -> Float[Tensor, " N"]:
    """log s_i(θ), the mean log-ratio of the token's answer, for each token (2507.18071 eq. 7).

    Args:
        number: the answer of each token.
        length: the tokens of each answer.
    """
    sums = log_ratio.new_zeros(len(length)).index_add(0, number, log_ratio)
    return (sums / length)[number]


def by_answer(
    loss: Float[Tensor, " N"], number: Int64[Tensor, " N"], length: Int64[Tensor, " E"]
) -> Float[Tensor, " N"]:
    """The loss of each token divided by the length of its answer, 1 / |o_i| of 2402.03300 eq. 3."""
    return loss / length[number]


class GRPO(ComparedAnswers):
    """GRPO on the policy of an `Actor`, without dropout and without a critic."""

    Config: ClassVar[type] = Config
    name = "grpo"

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        self.longest = 1 if model.decoding is None else model.decoding.max_new_tokens

    @property
    def penalises(self) -> bool:
        """Whether the KL to the reference is subtracted from returns."""
        return bool(self.config.kl == "reward")

    def advantages(self, returns: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Float[Tensor, " E"]:
        """Â_i of 2402.03300 sec. 4.1.2."""
        return comparison.relative(returns, group, self.config.deviation)

    def episodes_to_learn(self, batch: TokenBatch, episodes: Episodes) -> Int64[Tensor, " L"]:
        """The episodes whose row has different returns; all without `drop_equal`."""
        if not self.config.drop_equal:
            return super().episodes_to_learn(batch, episodes)
        rewards = episodes.sums(torch.where(batch.is_action, batch.reward, 0.0))
        return comparison.returns_differ(rewards, episodes.group).nonzero().flatten()

    def divisor(self, minibatch: TokenBatch) -> float:
        """The answers G, the tokens, or the answers x `max_new_tokens`."""
        if self.config.length == "token":
            return super().divisor(minibatch)
        answers = len(minibatch.episode.unique())
        return answers if self.config.length == "answer" else answers * self.longest

    def loss(self, model: Actor, batch: TokenBatch) -> dict[str, Float[Tensor, " N"]]:
        """The loss as "total", and the logged values: a number for each action token."""
        if self.config.importance == "sequence":
            scores = action_scores(model.policy, batch)  # one forward pass
            parts = self._parts(scores, batch, slice(None))
            total = parts["total"]
        else:
            total, scores = action_losses(
                model.policy, batch, lambda scores, here: self._parts(scores, batch, here)["total"]
            )
            parts = self._parts(scores, batch, slice(None))
        return {**parts, "total": total, "policy/entropy": scores.entropy}

    def _parts(self, scores: Scores, batch: TokenBatch, here: slice) -> dict[str, Float[Tensor, " n"]]:
        """The loss as "total", and the logged values, of the action tokens at the places `here`."""
        chosen, episodes = batch.is_action, episodes_of(batch)
        number = episodes.of_tokens(batch)[here]
        new, old = self.logprobs(scores, batch, here)
        log_ratio = new - old
        if self.config.importance == "sequence":
            log_ratio = sequence_ratio(log_ratio, number, episodes.length)
        policy, ratio, clipped = losses.clipped_surrogate(
            log_ratio,
            torch.zeros_like(log_ratio),
            of(batch.advantage, chosen)[here],
            self.config.clip,
            self.config.clip_high,
        )
        total, logged = policy, {"policy/loss": policy}
        if self.config.beta and self.config.kl == "loss":
            divergence = kl.k3(scores.policy, of(batch.reference_logprob, chosen)[here])  # eq. 4
            logged["kl/loss"] = divergence * log_ratio.exp() if self.config.kl_correction else divergence
            total = total + self.config.beta * logged["kl/loss"]  # eq. 3
        if self.config.length == "answer":
            total = by_answer(total, number, episodes.length)
        measured = {"policy/ratio": ratio, "policy/clip_fraction": clipped, "policy/kl_old": kl.k3(old, new)}
        return {"total": total, **logged, **measured}
