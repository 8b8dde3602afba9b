"""Base of the learners of values per token: settings, the loss of a minibatch, and acting.

A learner defines the targets of Q and V. Gradients are exact sums over micro-batches. Dropout is on in
networks that learn, as in the released code of ILQL, and off in target networks.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.algorithms.shared.gae import discounts
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.offline_learner import (
    CODE,
    OfflineLearner,
    TrunksConfig,
    attached_networks,
    build_values,
)
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.errors import BadSetting, LoquentError
from loquent.models.actor import Actor
from loquent.models.choose.best_of import AdvantageScore, BestOf
from loquent.models.score.states import StateCache, States, states_of
from loquent.models.score.tokens import weighted_nll
from loquent.models.tokens.batch import TokenBatch, positions
from loquent.models.values.networks import TokenValues
from loquent.models.values.perturb import FILTERS, MODES, Perturbation

LOGGED = logged_keys.BUILT_IN["ilql"]


@dataclass(frozen=True, kw_only=True)
class ValueConfig(TrunksConfig):
    """Settings of the learners of values per token."""

    discount: str = setting(
        "token", "unit of gamma: action tokens, or the learner's turns", choices=("token", "turn")
    )
    cql_weight: float = setting(
        0.0,
        "weight of the conservative term, which lowers Q of other tokens",
        source="2006.04779 eq. 4",
        low=0.0,
    )
    cql_temperature: float = setting(1.0, "temperature of Q in the conservative term", source=CODE, low=1e-6)
    margin_weight: float = setting(
        0.0, "weight of the large margin between the action and all other tokens", source=CODE, low=0.0
    )
    margin: float = setting(
        0.0, "margin by which Q of the action should exceed the others", source=CODE, low=0.0
    )
    adv_beta: float = setting(
        16.0, "weight of advantages in acting; 0: the policy only", source=CODE, low=0.0
    )
    adv_clip: float | None = setting(
        None, "largest addition of an advantage to a logit; none: no limit", source=CODE
    )
    adv_mode: str = setting("exponential", "acting by the advantage, or by its sign only", choices=MODES)
    adv_logits: bool = setting(True, "whether acting uses the policy's logits", source=CODE)
    adv_filters: str = setting(
        "before",
        "whether temperature, top_k and top_p apply before or after the perturbation",
        choices=FILTERS,
    )
    best_of: int = setting(1, "number of candidate answers in acting; the best is chosen", low=1)
    rerank_advantage: float = setting(
        1.0, "weight of an answer's summed advantage in that choice", source=CODE
    )
    rerank_logprob: float = setting(0.0, "weight of its log-probability in that choice", source=CODE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adv_mode == "sign" and not 0 < self.adv_beta < 1:
            raise BadSetting(
                f"Config.adv_beta = {self.adv_beta} with adv_mode = 'sign' is out of range; set a "
                "weight between 0 and 1"
            )


@dataclass(frozen=True, eq=False)
class LossInputs:
    """Inputs of the loss of a minibatch: a number for each of its N action tokens."""

    batch: TokenBatch
    states: States
    taken: Int64[Tensor, " N"]
    reward: Float[Tensor, " N"]
    discount: Float[Tensor, " N"]
    alive: Bool[Tensor, " N"]
    v: Float[Tensor, " N"]
    next_v: Float[Tensor, " N"]
    target_q: Float[Tensor, " N"]

    @property
    def returns(self) -> Float[Tensor, " N"]:
        """The discounted rewards to go, computed by `prepare`."""
        if self.batch.target is None:
            raise LoquentError(
                "the batch has no returns: it has not been prepared; call prepare(batch) first"
            )
        return self.batch.target[self.batch.is_action]


class ValueLearner(OfflineLearner):
    """Learns values per token of an `Actor`, which it attaches as `values`, and optionally its policy."""

    acting = (
        *("adv_beta", "adv_clip", "adv_mode", "adv_logits", "adv_filters"),
        *("best_of", "rerank_advantage", "rerank_logprob"),
    )
    needs_policy = False  # whether targets need the hidden states of the policy

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        self.cache = StateCache(model.policy, config.cache) if config.backbones == "frozen" else None

    def networks(self, model: Actor, key: Key) -> TokenValues:
        """V, and Q of every token."""
        return build_values(self.config, model, key)

    @abstractmethod
    def q_target(self, model: Actor, inputs: LossInputs) -> Float[Tensor, " N"]:
        """The target of Q for each action; without a gradient."""

    def v_target(self, inputs: LossInputs) -> Float[Tensor, " N"]:
        """The target of V for each state."""
        return inputs.target_q

    def q_loss(
        self, values: tuple[Float[Tensor, " N"], ...], target: Float[Tensor, " N"]
    ) -> Float[Tensor, " N"]:
        """The error of the heads, summed over heads."""
        return losses.q_loss(values, target)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, perturbed by the learned advantages."""
        config, values = self.config, attached_networks(model)
        settings = {"adv_beta": config.adv_beta, "adv_clip": config.adv_clip, "mode": config.adv_mode}
        perturbation = Perturbation(values, **settings, logits=config.adv_logits, filters=config.adv_filters)
        weights = {"advantage_weight": config.rerank_advantage, "logprob_weight": config.rerank_logprob}
        best = (
            BestOf(config.best_of, AdvantageScore(model.policy, values, model.format.pad, **weights))
            if config.best_of > 1
            else None
        )
        return LanguageModelAgent.of(
            model, evaluating, self.updates, perturbation=perturbation, best_of=best, name=self.name
        )

    def loss(
        self, model: Actor, batch: TokenBatch, minibatch: TokenBatch
    ) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The part of a micro-batch in the loss of its minibatch, and the logged values."""
        config, tokens = self.config, int(minibatch.is_action.sum())
        inputs, logged = self.loss_inputs(model, batch), dict[str, Tensor]()
        total, parts = self.q_part(model, inputs, self.q_target(model, inputs))
        parts["v_loss"] = losses.expectile_loss(self.v_target(inputs), inputs.v, config.tau)
        total = (total + config.v_weight * parts["v_loss"].sum()) / tokens
        if self.imitates:
            policy_loss, policy_logged = self.policy_loss(model, inputs)
            count = tokens if config.normaliser == "actions" else int(minibatch.real.sum()) - len(minibatch)
            total = total + config.awac_weight * policy_loss / count
            logged |= policy_logged
        parts |= {"v": inputs.v, "target_q": inputs.target_q, "advantage": inputs.target_q - inputs.v}
        return total, {**logged, **{f"values/{name}": part for name, part in parts.items()}}

    def loss_inputs(self, model: Actor, batch: TokenBatch) -> LossInputs:
        """One forward pass per network; V of all states, and target Q of the actions."""
        config, values = self.config, attached_networks(model)
        every = bool(self.imitates and config.transition_weight)
        states = states_of(
            model, batch, policy=self.imitates or self.needs_policy, every=every, cache=self.cache
        )
        at = states.at
        taken, reward, turn = (
            column.gather(1, at.action) for column in (batch.tokens, batch.reward, batch.turn)
        )
        discount = discounts(turn, at.real, config.gamma, config.discount).to(reward)[at.real]
        v = values.v(states.online.detach() if config.detach_v else states.online)
        target_q = values.target_taken(states.target[states.state], taken[at.real])
        current, following = v[states.state], v[states.following].detach()
        return LossInputs(
            batch,
            states,
            taken[at.real],
            reward[at.real],
            discount,
            at.alive[at.real],
            current,
            following,
            target_q,
        )

    def q_part(
        self, model: Actor, inputs: LossInputs, target: Float[Tensor, " N"]
    ) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The weighted losses of the Q-heads, summed over tokens and heads, and logged values for each token.

        Q of all tokens is computed only if a term needs it, some rows at a time.
        """
        config, values = self.config, attached_networks(model)
        hidden = inputs.states.online[inputs.states.state]
        hidden = hidden.detach() if config.detach_q else hidden
        if not (config.cql_weight or config.margin_weight):
            taken = values.gather(hidden, inputs.taken)
            error = self.q_loss(taken, target)
            return config.q_weight * error.sum(), {"q": torch.stack(taken).mean(0), "q_loss": error}
        weights = {
            "q_loss": config.q_weight,
            "cql_loss": config.cql_weight,
            "margin_loss": config.margin_weight,
        }
        terms = ["q_loss", *(name for name in ("cql_loss", "margin_loss") if weights[name])]
        names = ["q", *terms]

        def rows(q: Tensor, part: slice) -> tuple[Tensor, ...]:
            taken = inputs.taken[part]
            of_action = losses.of(q, taken)
            columns = {"q": of_action, "q_loss": self.q_loss((of_action,), target[part])}
            if config.cql_weight:
                columns["cql_loss"] = losses.cql_loss(q, taken, config.cql_temperature)
            if config.margin_weight:
                columns["margin_loss"] = losses.margin_loss(q, taken, config.margin)
            weighted = [weights[name] * columns[name] for name in terms]
            return torch.stack(weighted).sum(0), *(columns[name] for name in names)

        total, heads = values.sum_rows(hidden, rows)
        totals = {
            name: torch.stack(column).sum(0)
            for name, column in zip(names, zip(*heads, strict=True), strict=True)
        }
        return total, {**totals, "q": totals["q"] / len(heads)}

    def over_tokens(
        self, model: Actor, inputs: LossInputs, function: Callable[[Tensor], Tensor]
    ) -> Float[Tensor, " N"]:
        """A function [n, V] -> [n] of the target Q of all tokens in the next states.

        The result is undefined for states without an action.
        """
        return attached_networks(model).target_wide(inputs.states.target[inputs.states.following], function)

    def policy_loss(self, model: Actor, inputs: LossInputs) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The loss Σ_t w_t · -log π(x_t) over all weighted tokens, and logged values of the action tokens."""
        settings = {
            "beta": self.config.awac_beta,
            "mode": self.config.awac_mode,
            "clip": self.config.awac_clip,
        }
        weight = losses.awac_weight(inputs.target_q, inputs.v, **settings)
        return imitation(model, self.config, inputs.batch, weight, inputs.states.policy)


def imitation(
    model: Actor,
    config: Any,
    batch: TokenBatch,
    weight: Float[Tensor, " N"],
    hidden: Float[Tensor, "B T H"] | None,
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """The loss Σ_t w_t · -log π(x_t) over action tokens, and with `transition_weight` over all tokens.

    Args:
        config: a `PolicyConfig`.
        weight: w_t of the N action tokens.
        hidden: the policy's hidden states, if they are computed already.

    Returns:
        The loss, and logged values of the action tokens.
    """
    learned = batch.is_action
    if config.transition_weight:
        learned = batch.real.clone()
        learned[:, 0] = False  # no state precedes the first token
    weights = torch.full_like(batch.reward, config.transition_weight, dtype=weight.dtype)
    weights[batch.is_action] = weight
    if config.detach_policy and hidden is not None:
        hidden = hidden.detach()
    total, nll = weighted_nll(
        model.policy, replace(batch, is_action=learned, support=None), weights[learned], hidden=hidden
    )
    return total, {"policy/weight": weight, "policy/loss": weight * nll[batch.is_action[learned]]}


def with_returns(batch: TokenBatch, gamma: float, per: str) -> TokenBatch:
    """The batch with the discounted rewards to go of its action tokens as `target`.

    An episode may continue in the next row. Rewards after the cut of an episode count as 0.
    """
    at = positions(batch)
    reward, turn = (column.gather(1, at.action) for column in (batch.reward, batch.turn))
    discount = discounts(turn, at.real, gamma, per).to(reward)
    continues = torch.zeros_like(batch.ended)
    continues[:-1] = (batch.episode[1:] == batch.episode[:-1]) & ~batch.ended[:-1]
    after = reward.new_zeros(len(batch))
    returns = losses.reward_to_go(reward, at.real, discount, after)
    while True:  # one iteration per row of the longest episode
        carried = torch.where(continues, returns[:, 0].roll(-1), 0.0)
        if torch.equal(carried, after):
            break
        after = carried
        returns = losses.reward_to_go(reward, at.real, discount, after)
    target = torch.zeros_like(batch.reward)
    target[batch.is_action] = returns[at.real]
    return replace(batch, target=target)
