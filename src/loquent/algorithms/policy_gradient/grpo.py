"""GRPO for language models: clipped ratios, and advantages over the other answers to the same row.

Source: arXiv:2402.03300 sec. 4.1 (outcome supervision). Its successors are settings: Dr. GRPO
(arXiv:2503.20783), DAPO (arXiv:2503.14476), GSPO (arXiv:2507.18071), CISPO (arXiv:2506.13585), SAPO
(arXiv:2511.20347) and REINFORCE++ (arXiv:2501.03262). An episode of many turns is one answer: its return is
that of the whole episode.

The KL in the loss is k3, by default times the ratio (arXiv:2512.02556). Its gradient is then that of
KL(policy, reference), and the optimum is softmax(log reference + r / β), as with the KL in the reward and as
for PPO. Without the ratio (`kl_correction: false`), k3 has no gradient through the sampling. Its gradient is
then that of KL(reference, policy), so the optimum maximises E[r] - β KL(reference, policy).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.episode_groups import ComparedAnswers, Episodes, episodes_of
from loquent.algorithms.policy_gradient.grpo_settings import Config
from loquent.algorithms.policy_gradient.on_policy import START, divergence, of
from loquent.algorithms.shared import comparison, kl
from loquent.algorithms.shared.losses import normalise
from loquent.algorithms.shared.surrogates import SURROGATES, Bounds
from loquent.core.seeding import Key
from loquent.errors import LoquentError
from loquent.models.actor import Actor
from loquent.models.decoding_settings import OURS
from loquent.models.score.one_pass import Scores
from loquent.models.score.tokens import action_losses, action_scores
from loquent.models.tokens.batch import TokenBatch

LOGGED = logged_keys.BUILT_IN["grpo"]


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
        self.least_answers = 1 if config.alone else self.least_answers
        foreign = model.decoding is not None and model.decoding.engine != OURS
        self.rescores = foreign and config.engine_weight != "none"
        self.bounds = Bounds(
            config.clip, config.clip_high, config.cap, config.sapo_positive, config.sapo_negative
        )

    @property
    def penalises(self) -> bool:
        """Whether the KL to the reference is subtracted from returns, or from advantages."""
        return bool(self.config.kl != "loss")

    def returns(self, batch: TokenBatch, episodes: Episodes) -> Float[Tensor, " E"]:
        """The return of each episode, with the penalty if `kl` is "reward"."""
        if self.config.kl == "reward":
            return super().returns(batch, episodes)
        return episodes.sums(torch.where(batch.is_action, batch.reward, 0.0))

    def advantages(self, returns: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Float[Tensor, " E"]:
        """Â_i of 2402.03300 sec. 4.1.2, and its relatives."""
        return comparison.relative(returns, group, self.config.deviation, self.config.baseline)

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The scored batch with the advantage of each action token, and its weight if it is not 1; pure."""
        batch, chosen = super().prepare(batch), batch.is_action
        advantage, number = of(batch.advantage, chosen), episodes_of(batch).of_tokens(batch)
        if self.config.kl == "to_go":
            advantage = advantage - self.config.beta * comparison.to_go(divergence(batch)[chosen], number)
        if self.config.deviation == "tokens":
            advantage = normalise(advantage)
        batch = replace(batch, advantage=torch.zeros_like(batch.reward).masked_scatter(chosen, advantage))
        return replace(batch, weight=self._weight(batch)) if self.rescores else batch

    def _weight(self, batch: TokenBatch) -> Float[Tensor, "B T"]:
        """The weight of each action token by `engine_weight`."""
        config, episodes = self.config, episodes_of(batch)
        own, drawn = (of(column, batch.is_action) for column in (batch.own_logprob, batch.drawn_logprob))
        log_weight = torch.zeros_like(batch.reward).masked_scatter(batch.is_action, own - drawn)
        if config.engine_weight.startswith("sequence"):
            log_weight = episodes.sums(log_weight)[episodes.number][:, None].expand_as(log_weight)
        weight = comparison.engine_weight(
            log_weight, config.engine_weight, config.engine_weight_min, config.engine_weight_max
        )
        return torch.where(batch.is_action, weight, 0.0)

    def logprobs(
        self, scores: Scores, batch: TokenBatch, here: slice = slice(None)
    ) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
        """As in the base; with weights of the engine, the ratio's denominator is our own probability."""
        new, old = super().logprobs(scores, batch, here)
        if batch.weight is None or self.config.ratio == "raw":
            return new, old
        return new, of(batch.own_logprob, batch.is_action)[here]

    def episodes_to_learn(self, batch: TokenBatch, episodes: Episodes) -> Int64[Tensor, " L"]:
        """The episodes whose row has different returns; all without `drop_equal`."""
        if not self.config.drop_equal:
            return super().episodes_to_learn(batch, episodes)
        rewards = episodes.sums(torch.where(batch.is_action, batch.reward, 0.0))
        return comparison.returns_differ(rewards, episodes.group).nonzero().flatten()

    def keeps(self, batch: TokenBatch) -> Bool[Tensor, " B"]:
        """Whether a row's episode is learned from; not if it is overlong, with `drop_overlong`."""
        if not self.config.drop_overlong:
            return super().keeps(batch)
        if batch.overlong is None:
            raise LoquentError("the batch does not say which answers are overlong; make it with token_batch")
        return ~batch.overlong

    def divisor(self, minibatch: TokenBatch) -> float:
        """The answers G, the tokens that are learned, or the answers x `max_new_tokens`."""
        if self.config.length == "token":
            return max(1, int(minibatch.is_action[self.keeps(minibatch)].sum()))
        answers = len(minibatch.episode.unique())
        return answers if self.config.length == "answer" else answers * self.longest

    def summary(self, batch: TokenBatch) -> dict[str, float]:
        """Logged values of the batch, before any gradient step."""
        logged = super().summary(batch)
        if batch.weight is not None:
            logged["policy/engine_weight"] = float(batch.weight[batch.is_action].double().mean())
        return logged

    def loss(self, model: Actor, batch: TokenBatch) -> dict[str, Float[Tensor, " N"]]:
        """The loss as "total", and the logged values: a number for each action token."""
        if self.config.importance == "sequence" or self.config.entropy_coefficient:
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
        policy, ratio, outside = SURROGATES[self.config.surrogate](
            log_ratio, new, of(batch.advantage, chosen)[here], self.bounds
        )
        if batch.weight is not None:
            policy = policy * batch.weight[chosen][here]
        total, logged = policy, {"policy/loss": policy}
        if self.config.beta and self.config.kl == "loss":
            k3 = kl.k3(scores.policy, of(batch.reference_logprob, chosen)[here])  # eq. 4
            logged["kl/loss"] = k3 * log_ratio.exp() if self.config.kl_correction else k3
            total = total + self.config.beta * logged["kl/loss"]  # eq. 3
        if self.config.entropy_coefficient:
            total = total - self.config.entropy_coefficient * scores.entropy
        if self.config.length == "answer":
            total = by_answer(total, number, episodes.length)
        measured = {"policy/ratio": ratio, "policy/clip_fraction": outside, "policy/kl_old": kl.k3(old, new)}
        return {"total": total, **logged, **measured}
