"""PPO for language models: clipped ratios per token, GAE, and a penalty on the divergence from a reference.

This is proximal policy optimisation (arXiv:1707.06347v2) as in arXiv:2210.01241 sec. 3. Every token of an
answer is an action. The reward of a turn is on its last token, and `reward - beta * kl` is computed per
token. Gradients are exact sums over micro-batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.shared import kl, losses
from loquent.algorithms.shared.gae import discounts, gae
from loquent.algorithms.shared.optimization import (
    Means,
    adamw,
    clip_gradients,
    load_by_name,
    minibatches,
    state_by_name,
    trainable,
)
from loquent.core.algorithm import AlgorithmConfig, BatchAlgorithm
from loquent.core.seeding import Key
from loquent.core.settings import check_ranges, setting
from loquent.errors import BadSetting, LoquentError
from loquent.files import saved_state
from loquent.models.actor import Actor
from loquent.models.score.tokens import Scores, action_scores, deciding, micro_batches
from loquent.models.tokens.batch import TokenBatch, positions

START = Key(0, ("algorithm",))

LOGGED = logged_keys.PPO

PER_STEP = (
    "policy/loss",
    "policy/entropy",
    "policy/ratio",
    "policy/clip_fraction",
    "policy/kl_old",
    "critic/loss",
    "gradient/norm",
)


@dataclass(frozen=True, kw_only=True)
class Config(AlgorithmConfig):
    """Settings of `ppo`."""

    clip: float = setting(
        0.2, "ε: the ratio of a token is clipped to [1 - ε, 1 + ε]", source="1707.06347 sec. 6.1", low=0.0
    )
    value_clip: float | None = setting(
        None,
        "clip range of values around those at collection; none: no clipping",
        source="2005.12729 sec. 3",
        low=0.0,
    )
    epochs: int = setting(5, "passes over one batch of episodes", source="2210.01241 sec. B.3.1", low=1)
    minibatch: int = setting(16, "episodes in one gradient step", low=1)
    learning_rate: float = setting(
        1e-6,
        "constant learning rate of AdamW; 1e-4 suits small models trained from scratch",
        source="2210.01241 sec. B.3.1",
        low=0.0,
    )
    weight_decay: float = setting(
        1e-6, "weight decay of AdamW, on matrices only", source="RL4LMs, policies' default", low=0.0
    )
    value_coefficient: float = setting(
        0.5, "weight of the loss of the critic", source="2210.01241 sec. B.3.1", low=0.0
    )
    entropy_coefficient: float = setting(
        0.0, "weight of the entropy bonus", source="2210.01241 sec. B.3.1", low=0.0
    )
    gamma: float = setting(
        0.99, "discount; sec. 5.4 of the paper has 0.95", source="2210.01241 sec. B.3.1", low=0.0, high=1.0
    )
    lam: float = setting(
        0.95,
        "λ of GAE per token: 0 relies on the critic, 1 on the return",
        source="2210.01241 sec. B.3.1",
        low=0.0,
        high=1.0,
    )
    discount: str = setting(
        "token", "unit of gamma: action tokens, or the learner's turns", choices=("token", "turn")
    )
    normalize_advantages: bool = setting(
        True, "centre and scale advantages in each minibatch", source="stable-baselines3"
    )
    max_grad_norm: float | None = setting(
        0.5,
        "largest norm of the gradient of both networks; none: no clipping",
        source="stable-baselines3",
        low=0.0,
    )
    beta: float = setting(
        0.1,
        "coefficient of the KL penalty at the start; 0: no penalty",
        source="2210.01241 sec. B.3.1",
        low=0.0,
    )
    kl_target: float | None = setting(
        None,
        "target of the KL per token, to which beta adapts; none, inf: beta is fixed",
        source="1909.08593 sec. 2.2",
        low=0.0,
        infinite=True,
    )
    kl_gain: float = setting(
        0.1,
        "gain K of the controller of beta; 2210.01241 has 0.2, its code 0.1",
        source="RL4LMs, KLController",
        low=0.0,
    )
    kl_clip: float = setting(
        0.2, "bound of the relative error in one step of beta", source="2210.01241 eq. 2", low=0.0
    )
    ratio: str = setting(
        "support",
        "probabilities in the ratio: in the support that tokens are drawn from, or raw",
        choices=("support", "raw"),
    )
    stop_kl: float | None = setting(
        None,
        "a minibatch with a larger kl_old ends the update; none: no limit",
        source="stable-baselines3",
        low=0.0,
    )
    token_budget: int = setting(
        8192, "padded tokens in one forward pass; affects memory and speed, not the gradient", low=1
    )

    def __post_init__(self) -> None:
        check_ranges(self)
        if self.kl_target == 0:
            raise BadSetting(
                "Config.kl_target = 0 is out of range; set it above 0, or to none for a fixed beta"
            )
        if self.beta == 0 and self.kl_target is not None and math.isfinite(self.kl_target):
            raise BadSetting(
                f"Config.beta = 0 with kl_target = {self.kl_target}: beta changes by factors and "
                "would stay 0; set beta above 0"
            )


def penalised(batch: TokenBatch, beta: float) -> Float[Tensor, "B T"]:
    """The penalised reward r - β (log policy - log reference) on every action token, 0 elsewhere.

    It is 2210.01241 eq. 1 with the sign corrected.
    """
    return torch.where(batch.is_action, batch.reward - beta * divergence(batch), 0.0)


def divergence(batch: TokenBatch) -> Float[Tensor, "B T"]:
    """The k1 estimate of KL(policy, reference) per action token, by the full softmax.

    0 elsewhere and without reference.
    """
    if batch.reference_logprob is None or batch.policy_logprob is None:
        return torch.zeros_like(batch.reward)
    return torch.where(batch.is_action, kl.k1(batch.policy_logprob, batch.reference_logprob), 0.0)


class PPO(BatchAlgorithm):
    """PPO on the policy and the critic of an `Actor`, without dropout."""

    Config: ClassVar[type] = Config
    name = "ppo"
    scored = True
    reads = ("play",)

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        if model.critic is None:
            raise BadSetting(
                f"model.critic = 'none', but {self.name} needs a value function; set model.critic to "
                "'network' or 'head'"
            )
        if config.beta > 0 and model.reference is None:
            raise BadSetting(
                f"beta = {config.beta} needs a reference for the KL; set model.reference, or set beta to 0"
            )
        if model.decoding is not None and model.decoding.method != "sample":
            raise BadSetting(
                f"decoding.method = {model.decoding.method!r} does not sample, so the ratios of "
                f"{self.name} would be wrong; set decoding.method to 'sample' (evaluation.method may "
                "be any)"
            )
        self.config, self.key = config, key
        self.parameters = trainable(policy=model.policy, critic=model.critic)
        self.optimizer = adamw(self.parameters, config.learning_rate, config.weight_decay)
        self.controller = kl.Controller(
            config.beta, config.kl_target, gain=config.kl_gain, clip=config.kl_clip
        )
        self.updates = 0
        self.last_kl = 0.0

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, with the decoding of collection or of evaluation."""
        return LanguageModelAgent(
            model.policy, model.format, model.evaluation if evaluating else model.decoding, name=self.name
        )

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The scored batch with advantages and value targets; pure."""
        if batch.value is None or batch.bootstrap is None or batch.drawn_logprob is None:
            problem = "the batch has no value, bootstrap or drawn_logprob"
            raise LoquentError(
                f"{problem}; {self.name} needs scored batches of its own play, from models.score.tokens.score"
            )
        at = positions(batch)
        reward, value, turn = (
            x.gather(1, at.action)
            for x in (penalised(batch, self.controller.coefficient), batch.value, batch.turn)
        )
        factor = discounts(turn, at.real, self.config.gamma, self.config.discount).to(reward)
        estimate = gae(reward, value, at.real, at.alive, batch.bootstrap, factor, self.config.lam)
        columns = []
        for actions in estimate:
            column = torch.zeros_like(batch.reward)
            column[batch.is_action] = actions[at.real]
            columns.append(column)
        return replace(batch, advantage=columns[0], target=columns[1])

    def update(self, model: Actor, batch: TokenBatch) -> dict[str, float]:
        """All epochs over one prepared batch; returns means over the whole update, weighted by tokens."""
        rows = batch.is_action.any(1).nonzero().flatten()
        if not len(rows):
            raise LoquentError("the batch has no action token; give episodes with at least one answer")
        model.eval()  # no dropout, so that the ratio is 1 for an unchanged policy
        means, steps = Means(), 0
        for chosen in self._schedule(rows):
            if not self._gradient_step(model, batch.take(chosen), means, first=steps == 0):
                break
            steps += 1
        self.updates += 1
        logs = self._summary(batch)
        self.last_kl = logs["kl/reference"]
        return {**dict.fromkeys(PER_STEP, math.nan), **means.logged(), "gradient/steps": float(steps), **logs}

    def after_update(self, model: Actor) -> dict[str, float]:
        """One step of the KL controller."""
        return {"kl/coefficient_next": self.controller.step(self.last_kl)}

    def loss(self, model: Actor, batch: TokenBatch) -> dict[str, Float[Tensor, " N"]]:
        """The loss as "total", and the logged values: a number for each action token."""
        hidden, value = model(batch, want_values=True, wanted=deciding(batch))  # one forward pass per network
        scores = action_scores(model.policy, batch, hidden=hidden)
        chosen = batch.is_action
        new, old = self.logprobs(scores, batch)
        policy, ratio, clipped = losses.clipped_surrogate(
            new, old, _of(batch.advantage, chosen), self.config.clip
        )
        current = value[:, :-1][chosen[:, 1:]]  # the state of an action token is the position before it
        critic = losses.squared_error(
            current, _of(batch.target, chosen), _of(batch.value, chosen), self.config.value_clip
        )
        entropy = self.entropy(scores)
        total = policy
        if self.config.value_coefficient:
            total = total + self.config.value_coefficient * critic
        if self.config.entropy_coefficient:
            total = total - self.config.entropy_coefficient * entropy
        logged = {
            "policy/loss": policy,
            "policy/entropy": entropy,
            "policy/ratio": ratio,
            "policy/clip_fraction": clipped,
        }
        return {"total": total, **logged, "policy/kl_old": kl.k3(old, new), "critic/loss": critic}

    def logprobs(self, scores: Scores, batch: TokenBatch) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
        """Logarithms of the numerator and the denominator of r_t(θ)."""
        if self.config.ratio == "raw":
            return scores.policy, _of(batch.policy_logprob, batch.is_action)
        return scores.drawn, _of(batch.drawn_logprob, batch.is_action)

    def entropy(self, scores: Scores) -> Float[Tensor, " N"]:
        """The entropy of the distribution that each token was drawn from."""
        return scores.entropy

    def _schedule(self, rows: Tensor) -> Iterator[Tensor]:
        """The minibatches of all epochs; each epoch has its own order."""
        for epoch in range(self.config.epochs):
            yield from minibatches(
                rows, self.config.minibatch, self.key.child("minibatches", self.updates, epoch)
            )

    def _gradient_step(self, model: Actor, minibatch: TokenBatch, means: Means, *, first: bool) -> bool:
        """One gradient step on a minibatch; the gradient is a sum over micro-batches.

        Returns False, without a step, if kl_old exceeds `stop_kl`.
        """
        chosen = minibatch.is_action
        tokens = int(chosen.sum())
        if self.config.normalize_advantages:
            advantage = torch.zeros_like(minibatch.reward)
            advantage[chosen] = losses.normalised(_of(minibatch.advantage, chosen))
            minibatch = replace(minibatch, advantage=advantage)
        self.optimizer.zero_grad(set_to_none=True)
        diverged: Tensor | float = 0.0
        measured = []
        for rows in micro_batches(minibatch, self.config.token_budget):
            parts = self.loss(model, minibatch.take(rows).to(model.device))
            (parts.pop("total").sum() / tokens).backward()
            measured.append({name: part.detach() for name, part in parts.items()})
            diverged = diverged + measured[-1]["policy/kl_old"].sum() / tokens
            if first:
                means.greatest("policy/ratio_error", (measured[-1]["policy/ratio"] - 1).abs())
        if self.config.stop_kl is not None and float(diverged) > self.config.stop_kl:
            return False
        for parts in measured:
            means.add(**parts)
        means.add(
            **{
                "gradient/norm": torch.tensor(
                    clip_gradients(self.parameters, self.config.max_grad_norm), dtype=torch.float64
                )
            }
        )
        self.optimizer.step()
        return True

    def _summary(self, batch: TokenBatch) -> dict[str, float]:
        """Logged values of the batch, before any gradient step."""
        chosen, episodes = batch.is_action, len(batch.episode.unique())
        advantage, target, value = (
            _of(column, chosen).double() for column in (batch.advantage, batch.target, batch.value)
        )
        kl_k1 = divergence(batch)[chosen].double()
        kl_k3 = 0.0
        if batch.reference_logprob is not None:
            kl_k3 = float(
                kl.k3(_of(batch.policy_logprob, chosen), batch.reference_logprob[chosen]).double().mean()
            )
        beta = self.controller.coefficient
        explained = losses.explained_variance(value, target)
        return {
            "critic/explained_variance": float("nan") if explained is None else explained,
            "kl/reference": float(kl_k1.mean()),
            "kl/reference_k3": kl_k3,
            "kl/coefficient": beta,
            "reward/task": float(batch.reward[chosen].double().sum()) / episodes,
            "reward/penalty": -beta * float(kl_k1.sum()) / episodes,
            "advantage/mean": float(advantage.mean()),
            "advantage/deviation": float(advantage.std(unbiased=False)),
        }

    def state_dict(self) -> dict[str, Any]:
        """The optimizer, its tensors by parameter name, the controller and counters."""
        return {
            "optimizer": state_by_name(self.optimizer, self.parameters),
            "controller": self.controller.state_dict(),
            "updates": self.updates,
            "last_kl": self.last_kl,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it belongs to another model."""
        load_by_name(self.optimizer, self.parameters, saved_state.part(state, "optimizer"))
        self.controller.load_state_dict(saved_state.part(state, "controller"))
        self.updates, self.last_kl = saved_state.count(state, "updates"), saved_state.number(state, "last_kl")


def _of(column: Float[Tensor, "B T"] | None, chosen: Tensor) -> Float[Tensor, " N"]:
    """The entries of a column at chosen positions; LoquentError if the batch has no such column."""
    if column is None:
        raise LoquentError(
            "the batch lacks a column: it has not been scored and prepared; call score, then prepare"
        )
    return column[chosen]
