"""ILQL per utterance: one value for a whole answer, and of several answers the one with the highest is given.

Snell, Kostrikov, Su, Yang and Levine (arXiv:2206.11871), the per-utterance variant of its released code. V is read where an answer begins,
Q where it has ended; both are single numbers, so no token is held against others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import schedule
from loquent.algorithms import value_losses as losses
from loquent.algorithms.offline_learner import CODE, PAPER, OfflineLearner, TrunksConfig, attached, build_values
from loquent.algorithms.ppo import START
from loquent.algorithms.value_learner import PolicyConfig, imitation
from loquent.logged import Logged
from loquent.models.actor import Actor
from loquent.models.answer_values import AnswerScore
from loquent.models.rerank import BestOf
from loquent.models.score import deciding
from loquent.models.tokens import TokenBatch
from loquent.models.utterances import Utterances, utterances
from loquent.models.value_states import StateCache, numbered, states_where
from loquent.models.values import TokenValues
from loquent.seeding import Key
from loquent.settings import setting

LOGGED = {
    "answers/q_loss": Logged("return²", "mean over answers of the Q-heads' squared errors against their target, added over heads"),
    "answers/v_loss": Logged("return²", "mean over answers of the expectile loss of V"),
    "answers/q": Logged("return", "mean Q of the answers given, over heads"),
    "answers/v": Logged("return", "mean V of the states in which answers begin"),
    "answers/target_q": Logged("return", "mean target Q of the answers given"),
    "answers/advantage": Logged("return", "mean of target Q - V over the answers given"),
    "policy/loss": Logged("nats per token", "mean weighted negative log-likelihood of the action tokens"),
    "policy/weight": Logged("", "mean weight of an action token in the policy's loss"),
    "gradient/norm": Logged("", "mean norm of the gradient over all networks before it is clipped"),
    **schedule.LOGGED,
}


@dataclass(frozen=True, kw_only=True)
class Config(TrunksConfig, PolicyConfig):
    """What `algorithm:` may hold when `kind: ilql_utterance`."""

    gamma: float = setting(0.99, "discount of an answer", source=CODE, low=0.0, high=1.0)
    tau: float = setting(0.9, "expectile of V: 0.5 is the mean of what was done, towards 1 the best of it", source=PAPER, low=0.0, high=1.0)
    best_of: int = setting(4, "so many answers are drawn to each question, and the best is given", source=CODE, low=1)
    rerank_logprob: float = setting(0.0, "what an answer's log-probability counts in that choice, beside its target Q", source=CODE)


@dataclass(frozen=True, eq=False)
class Heard:
    """A minibatch as the loss reads it: a number for each of its N answers."""

    view: Utterances
    reward: Float[Tensor, " N"]
    alive: Bool[Tensor, " N"]
    q: tuple[Float[Tensor, " N"], ...]
    v: Float[Tensor, " N"]
    next_v: Float[Tensor, " N"]
    target_q: Float[Tensor, " N"]
    policy: Float[Tensor, "B T H"] | None  # the policy's own hidden states, where it imitates


class UtteranceILQL(OfflineLearner):
    """ILQL over the whole answers of an `Actor`'s policy."""

    Config: ClassVar[type] = Config
    name = "ilql_utterance"

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        self.cache = StateCache(model.policy, config.cache) if config.backbones == "frozen" else None
        self.agent(model, True)  # several answers are drawn: said before anything is learned, where decoding cannot

    def networks(self, model: Actor, key: Key) -> TokenValues:
        """V, and one Q of a whole answer."""
        return build_values(self.config, model, key, outputs=1)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, of whose answers the best by target Q is given."""
        score = AnswerScore(model.policy, attached(model), model.format.pad, self.config.rerank_logprob)
        best = BestOf(self.config.best_of, score)
        decoding = model.evaluation if evaluating else model.decoding
        return LanguageModelAgent(model.policy, model.format, decoding, best_of=best, name=self.name)

    def loss(self, model: Actor, batch: TokenBatch, whole: TokenBatch) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The share that a micro-batch has in the loss of the whole minibatch, and what is logged of it."""
        config, answers, heard = self.config, int(utterances(whole).real.sum()), self.hear(model, batch)
        aim = losses.bellman_target(heard.reward, heard.next_v, heard.alive, torch.full_like(heard.reward, config.gamma))
        q, v = losses.q_loss(heard.q, aim), losses.expectile_loss(heard.target_q, heard.v, config.tau)
        total, logged = (config.q_weight * q.sum() + config.v_weight * v.sum()) / answers, dict[str, Tensor]()
        if self.imitates:
            weight = self.weights(batch, heard)
            said, logged = imitation(model, config, batch, weight, heard.policy)
            count = int(whole.is_action.sum()) if config.normaliser == "actions" else int(whole.real.sum()) - len(whole)
            total = total + config.awac_weight * said / count
        means = {"q": torch.stack(heard.q).mean(0), "v": heard.v, "target_q": heard.target_q, "advantage": heard.target_q - heard.v}
        return total, {**logged, **{f"answers/{name}": part for name, part in {"q_loss": q, "v_loss": v, **means}.items()}}

    def hear(self, model: Actor, batch: TokenBatch) -> Heard:
        """One forward pass for each network; V where answers begin and next begin, Q where they have ended."""
        config, values, view = self.config, attached(model), utterances(batch)
        wanted = deciding(batch) if self.imitates else torch.zeros_like(batch.real)
        for place in (view.state, view.action, view.next):
            wanted = wanted.scatter(1, torch.where(view.real, place, place[:, :1]), True)
        every = bool(self.imitates and config.transition_weight)
        online, target, own = states_where(model, batch, wanted, policy=self.imitates, every=every, cache=self.cache)
        begun, ended, following = (numbered(wanted, place)[view.real] for place in (view.state, view.action, view.next))
        v = values.v(online.detach() if config.detach_v else online)
        q = tuple(head[:, 0] for head in values.q(online[ended].detach() if config.detach_q else online[ended]))
        target_q = values.target_q(target[ended])[:, 0]
        return Heard(view, view.reward[view.real], view.alive[view.real], q, v[begun], v[following].detach(), target_q, own)

    def weights(self, batch: TokenBatch, heard: Heard) -> Float[Tensor, " M"]:
        """What the likelihood of each of the M action tokens counts: its answer's advantage, weighed as per token."""
        config, view = self.config, heard.view
        how = {"beta": config.awac_beta, "mode": config.awac_mode, "clip": config.awac_clip}
        placed = torch.zeros_like(view.reward)
        placed[view.real] = losses.awac_weight(heard.target_q, heard.v, **how)
        actions = torch.arange(view.of.shape[1], device=view.of.device) < batch.is_action.sum(1, keepdim=True)
        return placed.gather(1, view.of)[actions]
