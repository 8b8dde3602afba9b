"""What the learners of values per token share: settings, the pass over a minibatch, gradient steps, targets that follow, and acting.

Each of them says in a file of its own what Q and V are drawn towards. Gradients are exact sums over micro-batches; dropout is on in
networks that learn, as in the released code of ILQL, and never in targets.
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
from loquent.algorithms import schedule
from loquent.algorithms import value_losses as losses
from loquent.algorithms.gae import discounts
from loquent.algorithms.offline_learner import CODE, PAPER, OfflineLearner, TrunksConfig, attached, build_values
from loquent.algorithms.ppo import START
from loquent.errors import BadSetting, LoquentError
from loquent.logged import Logged
from loquent.models.actor import Actor
from loquent.models.perturb import FILTERS, MODES, Perturbation
from loquent.models.rerank import AdvantageScore, BestOf
from loquent.models.score import weighted_nll
from loquent.models.tokens import TokenBatch, positions
from loquent.models.value_states import StateCache, States, states_of
from loquent.models.values import TokenValues
from loquent.seeding import Key
from loquent.settings import setting

__all__ = ["CODE", "LOGGED", "PAPER", "PolicyConfig", "Seen", "ValueConfig", "ValueLearner", "imitation", "with_returns"]

LOGGED = {
    "values/q_loss": Logged("return²", "mean over action tokens of the Q-heads' squared errors against their target, added over heads"),
    "values/v_loss": Logged("return²", "mean over action tokens of the expectile loss of V"),
    "values/cql_loss": Logged("nats per token", "mean over action tokens of logsumexp Q - Q of the token taken, added over heads"),
    "values/margin_loss": Logged("return²", "mean over action tokens of the squared large margin, added over heads"),
    "values/q": Logged("return", "mean Q of the tokens taken, over heads"),
    "values/v": Logged("return", "mean V of the states"),
    "values/target_q": Logged("return", "mean target Q of the tokens taken"),
    "values/advantage": Logged("return", "mean of target Q - V over the tokens taken"),
    "policy/loss": Logged("nats per token", "mean weighted negative log-likelihood of the action tokens"),
    "policy/weight": Logged("", "mean weight of an action token in the policy's loss"),
    "gradient/norm": Logged("", "mean norm of the gradient over all networks before it is clipped"),
    **schedule.LOGGED,
}


@dataclass(frozen=True, kw_only=True)
class ValueConfig(TrunksConfig):
    """What the learners of values per token have in common."""

    discount: str = setting("token", "what gamma counts: action tokens, or the learner's turns", choices=("token", "turn"))
    cql_weight: float = setting(0.0, "weight of the term that keeps Q low for tokens not taken", source="2006.04779 eq. 4", low=0.0)
    cql_temperature: float = setting(1.0, "what Q is divided by in that term", source=CODE, low=1e-6)
    margin_weight: float = setting(0.0, "weight of the large margin between the token taken and all others", source=CODE, low=0.0)
    margin: float = setting(0.0, "how much higher the token taken is to be", source=CODE, low=0.0)
    adv_beta: float = setting(16.0, "weight of advantages in acting; 0: the policy alone", source=CODE, low=0.0)
    adv_clip: float | None = setting(None, "most that an advantage adds to a logit; none: not clipped", source=CODE)
    adv_mode: str = setting("exponential", "acting by the advantage or by its sign alone", choices=MODES)
    adv_logits: bool = setting(True, "whether the policy's logits count in acting", source=CODE)
    adv_filters: str = setting("before", "temperature, top_k and top_p read the policy, or what was perturbed", choices=FILTERS)
    best_of: int = setting(1, "so many answers are drawn to each question, and the best is given", low=1)
    rerank_advantage: float = setting(1.0, "what an answer's summed advantage counts in that choice", source=CODE)
    rerank_logprob: float = setting(0.0, "what its log-probability counts", source=CODE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adv_mode == "sign" and not 0 < self.adv_beta < 1:
            raise BadSetting(f"Config.adv_beta = {self.adv_beta} with adv_mode = 'sign' is a weight between 0 and 1, of tokens better than V")


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """How the policy learns beside the values: by the log-likelihood of what was said, weighted by its advantage."""

    awac_weight: float = setting(
        1.0,
        "weight of the policy's loss; 0: the policy stays as it is, but with backbones = shared, where the values' losses move its trunk",
        source=CODE,
        low=0.0,
    )
    awac_beta: float = setting(0.0, "a token's likelihood counts exp(awac_beta * advantage); 0: all alike, which is cloning", source=CODE, low=0.0)
    awac_mode: str = setting("exponential", "that, or by sign: awac_beta where the advantage is above 0, else 1 - awac_beta", choices=losses.MODES)
    awac_clip: float | None = setting(None, "most that one token counts; none: not clipped", source=CODE, low=0.0)
    transition_weight: float = setting(0.0, "what tokens of the task count", source=CODE, low=0.0)
    normaliser: str = setting(
        "actions", "the policy's loss is divided by action tokens, or by all tokens (ILQL's released code)", choices=("actions", "tokens")
    )
    detach_policy: bool = setting(False, "the policy's loss reaches its output layer alone", source=CODE)


@dataclass(frozen=True, eq=False)
class Seen:
    """A minibatch as a loss reads it: a number for each of its N action tokens."""

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
        """The discounted rewards to go, which `prepare` put into the batch."""
        if self.batch.target is None:
            raise LoquentError("the batch has not been prepared: it has no returns")
        return self.batch.target[self.batch.is_action]


class ValueLearner(OfflineLearner):
    """Learns values per token, and perhaps the policy, of an `Actor`, to which it attaches `values`."""

    asks_policy = False  # whether a target needs the policy's own states

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        self.cache = StateCache(model.policy, config.cache) if config.backbones == "frozen" else None

    def networks(self, model: Actor, key: Key) -> TokenValues:
        """V, and Q of each token."""
        return build_values(self.config, model, key)

    @abstractmethod
    def q_target(self, model: Actor, seen: Seen) -> Float[Tensor, " N"]:
        """What Q of each token taken is drawn towards; without a gradient."""

    def v_target(self, seen: Seen) -> Float[Tensor, " N"]:
        """What V of each state is drawn towards."""
        return seen.target_q

    def q_loss(self, values: tuple[Float[Tensor, " N"], ...], target: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
        """The error of the heads."""
        return losses.q_loss(values, target)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, perturbed by the advantages it has learned."""
        config, values = self.config, attached(model)
        how = {"adv_beta": config.adv_beta, "adv_clip": config.adv_clip, "mode": config.adv_mode}
        perturbation = Perturbation(values, **how, logits=config.adv_logits, filters=config.adv_filters)
        weights = {"advantage_weight": config.rerank_advantage, "logprob_weight": config.rerank_logprob}
        best = BestOf(config.best_of, AdvantageScore(model.policy, values, model.format.pad, **weights)) if config.best_of > 1 else None
        decoding = model.evaluation if evaluating else model.decoding
        return LanguageModelAgent(model.policy, model.format, decoding, perturbation=perturbation, best_of=best, name=self.name)

    def loss(self, model: Actor, batch: TokenBatch, whole: TokenBatch) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The share that a micro-batch has in the loss of the whole minibatch, and what is logged of it."""
        config, tokens = self.config, int(whole.is_action.sum())
        seen, logged = self.see(model, batch), dict[str, Tensor]()
        total, parts = self.q_part(model, seen, self.q_target(model, seen))
        parts["v_loss"] = losses.expectile_loss(self.v_target(seen), seen.v, config.tau)
        total = (total + config.v_weight * parts["v_loss"].sum()) / tokens
        if self.imitates:
            said, more = self.policy_loss(model, seen)
            count = tokens if config.normaliser == "actions" else int(whole.real.sum()) - len(whole)
            total = total + config.awac_weight * said / count
            logged |= more
        parts |= {"v": seen.v, "target_q": seen.target_q, "advantage": seen.target_q - seen.v}
        return total, {**logged, **{f"values/{name}": part for name, part in parts.items()}}

    def see(self, model: Actor, batch: TokenBatch) -> Seen:
        """One forward pass for each network, V of all states, and the target Q of the tokens taken."""
        config, values = self.config, attached(model)
        every = bool(self.imitates and config.transition_weight)
        states = states_of(model, batch, policy=self.imitates or self.asks_policy, every=every, cache=self.cache)
        at = states.at
        taken, reward, turn = (column.gather(1, at.action) for column in (batch.tokens, batch.reward, batch.turn))
        discount = discounts(turn, at.real, config.gamma, config.discount).to(reward)[at.real]
        v = values.v(states.online.detach() if config.detach_v else states.online)
        target_q = values.target_taken(states.target[states.state], taken[at.real])
        here, following = v[states.state], v[states.following].detach()
        return Seen(batch, states, taken[at.real], reward[at.real], discount, at.alive[at.real], here, following, target_q)

    def q_part(self, model: Actor, seen: Seen, target: Float[Tensor, " N"]) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The weighted losses of the Q-heads, summed over tokens and heads, and what is logged of them: a number for each token.

        Q of all tokens is formed only where a term needs it, some rows at a time.
        """
        config, values = self.config, attached(model)
        hidden = seen.states.online[seen.states.state]
        hidden = hidden.detach() if config.detach_q else hidden
        if not (config.cql_weight or config.margin_weight):
            taken = values.taken(hidden, seen.taken)
            error = self.q_loss(taken, target)
            return config.q_weight * error.sum(), {"q": torch.stack(taken).mean(0), "q_loss": error}
        names = ["q", "q_loss", *(["cql_loss"] if config.cql_weight else []), *(["margin_loss"] if config.margin_weight else [])]

        def rows(q: Tensor, here: slice) -> tuple[Tensor, ...]:
            taken = seen.taken[here]
            chosen = losses.of(q, taken)
            found = {"q": chosen, "q_loss": self.q_loss((chosen,), target[here])}
            if config.cql_weight:
                found["cql_loss"] = losses.cql_loss(q, taken, config.cql_temperature)
            if config.margin_weight:
                found["margin_loss"] = losses.margin_loss(q, taken, config.margin)
            weighted = [getattr(config, name.replace("loss", "weight")) * found[name] for name in names[1:]]
            return torch.stack(weighted).sum(0), *(found[name] for name in names)

        total, heads = values.summed(hidden, rows)
        columns = {name: torch.stack(column).sum(0) for name, column in zip(names, zip(*heads, strict=True), strict=True)}
        return total, {**columns, "q": columns["q"] / len(heads)}

    def over_tokens(self, model: Actor, seen: Seen, function: Callable[[Tensor], Tensor]) -> Float[Tensor, " N"]:
        """A function of the target Q of all tokens in the next states, [n, V] -> [n]; of states that have none it means nothing."""
        return attached(model).target_wide(seen.states.target[seen.states.following], function)

    def policy_loss(self, model: Actor, seen: Seen) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """Σ_t w_t · -log π(x_t) over all tokens that count, and what is logged of its action tokens."""
        how = {"beta": self.config.awac_beta, "mode": self.config.awac_mode, "clip": self.config.awac_clip}
        weight = losses.awac_weight(seen.target_q, seen.v, **how)
        return imitation(model, self.config, seen.batch, weight, seen.states.policy)


def imitation(
    model: Actor, config: Any, batch: TokenBatch, weight: Float[Tensor, " N"], hidden: Float[Tensor, "B T H"] | None
) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
    """Σ_t w_t · -log π(x_t) over the tokens that count (a `PolicyConfig` says which), from the weights of the N action tokens; and what is
    logged of these."""
    counts = batch.is_action
    if config.transition_weight:
        counts = batch.real.clone()
        counts[:, 0] = False  # nothing stands before the first token
    weights = torch.full_like(batch.reward, config.transition_weight, dtype=weight.dtype)
    weights[batch.is_action] = weight
    if config.detach_policy and hidden is not None:
        hidden = hidden.detach()
    total, nll = weighted_nll(model.policy, replace(batch, is_action=counts, support=None), weights[counts], hidden=hidden)
    return total, {"policy/weight": weight, "policy/loss": weight * nll[batch.is_action[counts]]}


def with_returns(batch: TokenBatch, gamma: float, per: str) -> TokenBatch:
    """The batch with the discounted rewards to go of its action tokens as `target`; rows of one episode go on in the next one.

    What was never played, of an episode that was cut, counts nothing.
    """
    at = positions(batch)
    reward, turn = (column.gather(1, at.action) for column in (batch.reward, batch.turn))
    discount = discounts(turn, at.real, gamma, per).to(reward)
    goes_on = torch.zeros_like(batch.ended)
    goes_on[:-1] = (batch.episode[1:] == batch.episode[:-1]) & ~batch.ended[:-1]
    after = reward.new_zeros(len(batch))
    found = losses.reward_to_go(reward, at.real, discount, after)
    while True:  # one round more for each row that the longest episode takes
        carried = torch.where(goes_on, found[:, 0].roll(-1), 0.0)
        if torch.equal(carried, after):
            break
        after = carried
        found = losses.reward_to_go(reward, at.real, discount, after)
    placed = torch.zeros_like(batch.reward)
    placed[batch.is_action] = found[at.real]
    return replace(batch, target=placed)
