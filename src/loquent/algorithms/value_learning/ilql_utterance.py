"""ILQL per utterance: one value for a whole answer; acting chooses the best of several candidate answers.

Snell, Kostrikov, Su, Yang and Levine (arXiv:2206.11871), the per-utterance variant of the released code. V is
computed at the start of an answer and Q at its end. Both are single numbers, so there is no conservative term
over tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.offline_learner import (
    CODE,
    PAPER,
    OfflineLearner,
    PolicyConfig,
    TrunksConfig,
    attached_networks,
    build_values,
)
from loquent.algorithms.value_learning.value_learner import imitation
from loquent.core.seeding import Key
from loquent.core.settings import setting
from loquent.models.actor import Actor
from loquent.models.choose.answers import AnswerScore
from loquent.models.choose.best_of import BestOf
from loquent.models.score.states import StateCache, index_among, states_where
from loquent.models.score.tokens import deciding
from loquent.models.tokens.batch import TokenBatch
from loquent.models.tokens.utterances import Utterances, utterances
from loquent.models.values.networks import TokenValues

LOGGED = logged_keys.BUILT_IN["ilql_utterance"]


@dataclass(frozen=True, kw_only=True)
class Config(TrunksConfig, PolicyConfig):
    """Settings of `ilql_utterance`."""

    gamma: float = setting(0.99, "discount of an answer", source=CODE, low=0.0, high=1.0)
    tau: float = setting(
        0.9,
        "expectile of V: 0.5 is the mean over the answers in the data; near 1, their maximum",
        source=PAPER,
        low=0.0,
        high=1.0,
    )
    best_of: int = setting(4, "number of candidate answers in acting; the best is chosen", source=CODE, low=1)
    rerank_logprob: float = setting(
        0.0, "weight of an answer's log-probability in that choice, added to its target Q", source=CODE
    )


@dataclass(frozen=True, eq=False)
class AnswerInputs:
    """Inputs of the loss of a minibatch: a number for each of its N answers."""

    view: Utterances
    reward: Float[Tensor, " N"]
    alive: Bool[Tensor, " N"]
    q: tuple[Float[Tensor, " N"], ...]
    v: Float[Tensor, " N"]
    next_v: Float[Tensor, " N"]
    target_q: Float[Tensor, " N"]
    policy: Float[Tensor, "B T H"] | None  # hidden states of the policy, if it learns


class UtteranceILQL(OfflineLearner):
    """ILQL on whole answers of the policy of an `Actor`."""

    Config: ClassVar[type] = Config
    name = "ilql_utterance"
    acting = ("best_of", "rerank_logprob")

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        self.cache = StateCache(model.policy, config.cache) if config.backbones == "frozen" else None
        self.agent(model, True)  # refuses decoding that cannot draw several answers, before learning starts

    def networks(self, model: Actor, key: Key) -> TokenValues:
        """V, and one Q for a whole answer."""
        return build_values(self.config, model, key, outputs=1)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, which chooses the best of several answers by target Q."""
        score = AnswerScore(
            model.policy, attached_networks(model), model.format.pad, self.config.rerank_logprob
        )
        best = BestOf(self.config.best_of, score)
        return LanguageModelAgent.of(model, evaluating, self.updates, best_of=best, name=self.name)

    def loss(
        self, model: Actor, batch: TokenBatch, minibatch: TokenBatch
    ) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The part of a micro-batch in the loss of its minibatch, and the logged values."""
        config, answers, inputs = (
            self.config,
            int(utterances(minibatch).real.sum()),
            self.loss_inputs(model, batch),
        )
        target = losses.bellman_target(
            inputs.reward, inputs.next_v, inputs.alive, torch.full_like(inputs.reward, config.gamma)
        )
        q, v = losses.q_loss(inputs.q, target), losses.expectile_loss(inputs.target_q, inputs.v, config.tau)
        total, logged = (config.q_weight * q.sum() + config.v_weight * v.sum()) / answers, dict[str, Tensor]()
        if self.imitates:
            weight = self.weights(batch, inputs)
            policy_loss, logged = imitation(model, config, batch, weight, inputs.policy)
            count = (
                int(minibatch.is_action.sum())
                if config.normaliser == "actions"
                else int(minibatch.real.sum()) - len(minibatch)
            )
            total = total + config.awac_weight * policy_loss / count
        means = {
            "q": torch.stack(inputs.q).mean(0),
            "v": inputs.v,
            "target_q": inputs.target_q,
            "advantage": inputs.target_q - inputs.v,
        }
        return total, {
            **logged,
            **{f"answers/{name}": part for name, part in {"q_loss": q, "v_loss": v, **means}.items()},
        }

    def loss_inputs(self, model: Actor, batch: TokenBatch) -> AnswerInputs:
        """One forward pass per network; V before each answer and the next one, Q at its end."""
        config, values, view = self.config, attached_networks(model), utterances(batch)
        wanted = deciding(batch) if self.imitates else torch.zeros_like(batch.real)
        for place in (view.state, view.action, view.next):
            wanted = wanted.scatter(1, torch.where(view.real, place, place[:, :1]), True)
        every = bool(self.imitates and config.transition_weight)
        online, target, own = states_where(
            model, batch, wanted, policy=self.imitates, every=every, cache=self.cache
        )
        begun, ended, following = (
            index_among(wanted, place)[view.real] for place in (view.state, view.action, view.next)
        )
        v = values.v(online.detach() if config.detach_v else online)
        q = tuple(
            head[:, 0] for head in values.q(online[ended].detach() if config.detach_q else online[ended])
        )
        target_q = values.target_q(target[ended])[:, 0]
        return AnswerInputs(
            view,
            view.reward[view.real],
            view.alive[view.real],
            q,
            v[begun],
            v[following].detach(),
            target_q,
            own,
        )

    def weights(self, batch: TokenBatch, inputs: AnswerInputs) -> Float[Tensor, " M"]:
        """The weights of the M action tokens in the policy's loss, by the advantage of their answer."""
        config, view = self.config, inputs.view
        settings = {"beta": config.awac_beta, "mode": config.awac_mode, "clip": config.awac_clip}
        weight = torch.zeros_like(view.reward)
        weight[view.real] = losses.awac_weight(inputs.target_q, inputs.v, **settings)
        actions = torch.arange(view.of.shape[1], device=view.of.device) < batch.is_action.sum(1, keepdim=True)
        return weight.gather(1, view.of)[actions]
