"""CHAI: Q-learning over candidate answers of a language model that stays as it is (Verma et al., arXiv:2204.08426).

As ILQL's paper compares itself with it (arXiv:2206.11871, its released code): features are the mean of the last hidden states up to the
answer's end, the best of a few drawn candidates stands for the best answer, and a conservative term over candidates and random features
keeps Q low for what was not said.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from loquent import pretrained
from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import schedule
from loquent.algorithms import value_losses as losses
from loquent.algorithms.offline_learner import CODE, HeadsConfig, OfflineLearner, attached
from loquent.algorithms.ppo import START
from loquent.errors import BadSetting
from loquent.logged import Logged
from loquent.models.actor import Actor, width
from loquent.models.candidates import Candidates, FeatureScore, FeatureValues, name_of, running_mean
from loquent.models.rerank import BestOf
from loquent.models.tokens import TokenBatch
from loquent.models.utterances import utterances
from loquent.seeding import Key
from loquent.settings import setting

LOGGED = {
    "answers/q_loss": Logged("return²", "mean over answers of the Q-heads' squared errors against their target, added over heads"),
    "answers/cql_loss": Logged("return", "mean over answers of the log-mean-exp of Q over candidates and random features - Q, added over heads"),
    "answers/q": Logged("return", "mean Q of the answers given, over heads"),
    "answers/best_q": Logged("return", "mean over next states of the highest target Q of their candidates"),
    "candidates/states": Logged("states", "states whose candidates are kept"),
    "gradient/norm": Logged("", "mean norm of the gradient over all networks before it is clipped"),
    **schedule.LOGGED,
}


@dataclass(frozen=True, kw_only=True)
class Config(HeadsConfig):
    """What `algorithm:` may hold when `kind: chai`."""

    backbones: ClassVar[str] = "frozen"
    gamma: float = setting(0.99, "discount of an answer", source=CODE, low=0.0, high=1.0)
    candidates: int = setting(5, "answers drawn for each state of the data", source=CODE, low=1)
    cache: int = setting(4096, "most megabytes of candidates that are kept, and stand in checkpoints; others are drawn again", low=0)
    cql_weight: float = setting(0.1, "weight of the term that keeps Q low for candidates and random features", source=CODE, low=0.0)
    cql_form: str = setting(
        "density",
        "that term: an average by densities; or as published, a random feature's density 1 / (2 * width) and every term divided by 2 * candidates",
        source="2006.04779 eq. 4; " + CODE,
        choices=("density", "published"),
    )
    learning_rate: float = setting(1e-5, "AdamW's largest step; a small model made here learns with 1e-3", source=CODE, low=0.0)
    best_of: int = setting(5, "so many answers are drawn to each question in acting, and the best by target Q is given", source=CODE, low=1)


class Chai(OfflineLearner):
    """CHAI over the policy of an `Actor`, which should be a clone of the data: it never learns here."""

    Config: ClassVar[type] = Config
    name = "chai"

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        how: dict[str, Any] = {"number": config.candidates, "megabytes": config.cache, "token_budget": config.token_budget}
        self.candidates = Candidates(model.policy, model.format, model.decoding, **how, key=key.child("candidates"))
        if config.candidates > 1 and self.candidates.decoding.method != "sample":
            method = self.candidates.decoding.method
            raise BadSetting(f"candidates = {config.candidates} with decoding.method = {method!r}: all are the same; 'sample' draws them")
        self.agent(model, True)  # several answers are drawn: said before anything is learned, where decoding cannot

    def networks(self, model: Actor, key: Key) -> FeatureValues:
        """One Q of a state with its answer."""
        config = self.config
        limits = {"value_min": config.value_min, "value_max": config.value_max}
        made = FeatureValues(width(model.policy), double=config.double_q, initial=config.initial_value, **limits, key=key)
        return made.to(model.device)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, of whose answers the best by target Q is given."""
        best = BestOf(self.config.best_of, FeatureScore(model.policy, attached(model), model.format.pad))
        decoding = model.evaluation if evaluating else model.decoding
        return LanguageModelAgent(model.policy, model.format, decoding, best_of=best, name=self.name)

    def loss(self, model: Actor, batch: TokenBatch, whole: TokenBatch) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The share that a micro-batch has in the loss of the whole minibatch, and what is logged of it."""
        config, values, view = self.config, attached(model), utterances(batch)
        answers, alive = int(utterances(whole).real.sum()), view.alive[view.real]
        with torch.no_grad():
            means = running_mean(pretrained.hidden(model.policy, batch.tokens).float())
        row = view.real.nonzero()[:, 0]
        q = values.q(means[row, view.action[view.real]])
        best = torch.zeros_like(q[0])
        if bool(alive.any()):
            after = self.candidates.of(_before(batch, row[alive], view.next[view.real][alive]))[0]
            best[alive] = values.target_q(after).amax(1)
        reward = view.reward[view.real]
        error = losses.q_loss(q, losses.bellman_target(reward, best, alive, torch.full_like(reward, config.gamma)))
        total, logged = error.sum() / answers, {"answers/q_loss": error, "answers/q": torch.stack(q).mean(0), "answers/best_q": best[alive]}
        if config.cql_weight:
            cql = self.cql(values, q, _before(batch, row, view.state[view.real]))
            total, logged = total + config.cql_weight * cql.sum() / answers, {**logged, "answers/cql_loss": cql}
        return total, logged

    def cql(self, values: FeatureValues, q: tuple[Float[Tensor, " N"], ...], states: list[list[int]]) -> Float[Tensor, " N"]:
        """The conservative term of each answer, added over heads."""
        features, logprob = self.candidates.of(states)
        chance = torch.stack([self._random(ids, features.shape[1:]) for ids in states]).to(features)
        published, size = self.config.cql_form == "published", features.shape[-1]
        density = -math.log(2 * size) if published else -size * math.log(2)
        heads = zip(q, values.q(features), values.q(chance), strict=True)
        how: dict[str, Any] = {"log_density": density, "published": published}
        return torch.stack([losses.candidates_cql_loss(data, own, logprob.to(own), other, **how) for data, own, other in heads]).sum(0)

    def _random(self, ids: list[int], shape: torch.Size) -> Tensor:
        """Features between -1 and 1, of this gradient step and this state: however rows are put together, the same."""
        drawn = self.key.child("random features", self.steps, name_of(ids)).generator().random(tuple(shape), dtype=np.float32)
        return torch.from_numpy(2 * drawn - 1)

    def after_update(self, model: Actor) -> dict[str, float]:
        """How many states have candidates."""
        return {"candidates/states": float(len(self.candidates))}

    def state_dict(self) -> dict[str, Any]:
        """Optimizer, counters, and the candidates that were drawn."""
        return {**super().state_dict(), "candidates": self.candidates.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take back what `state_dict` gave; BadCheckpoint when it belongs to another model."""
        super().load_state_dict(state)
        self.candidates.load_state_dict(state["candidates"])


def _before(batch: TokenBatch, row: Tensor, place: Tensor) -> list[list[int]]:
    """The ids of rows up to a position of each."""
    return [batch.tokens[b, : p + 1].tolist() for b, p in zip(row.tolist(), place.tolist(), strict=True)]
