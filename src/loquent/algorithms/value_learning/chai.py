"""CHAI: Q-learning over candidate answers of a fixed language model (Verma et al., arXiv:2204.08426).

This is the variant of ILQL's paper and code (arXiv:2206.11871). Features are the mean of the last hidden
states up to the end of the answer. The maximum over all answers is approximated by a few sampled candidates.
A conservative term over candidates and random features lowers Q of answers outside the data.
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
from loquent.algorithms import logged_keys
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.algorithms.value_learning import value_losses as losses
from loquent.algorithms.value_learning.offline_learner import (
    CODE,
    HeadsConfig,
    OfflineLearner,
    attached_networks,
)
from loquent.core.algorithm import StepSettings
from loquent.core.seeding import Key
from loquent.core.settings import redefault, setting
from loquent.errors import BadSetting
from loquent.files.machine import parallel
from loquent.models.actor import Actor
from loquent.models.choose.best_of import BestOf
from loquent.models.choose.candidates import Candidates, FeatureScore, FeatureValues, mean_states, name_of
from loquent.models.tokens.batch import TokenBatch
from loquent.models.tokens.utterances import utterances
from loquent.pretrained.output import width

LOGGED = logged_keys.BUILT_IN["chai"]


@dataclass(frozen=True, kw_only=True)
class Config(HeadsConfig):
    """Settings of `chai`."""

    backbones: ClassVar[str] = "frozen"
    gamma: float = setting(0.99, "discount of an answer", source=CODE, low=0.0, high=1.0)
    candidates: int = setting(5, "candidate answers for each state of the data", source=CODE, low=1)
    cache: int = setting(
        4096,
        "megabytes of cached candidates at most, also in checkpoints; other candidates are sampled again",
        low=0,
    )
    cql_weight: float = setting(
        0.1,
        "weight of the conservative term, which lowers Q of candidates and random features",
        source=CODE,
        low=0.0,
    )
    cql_form: str = setting(
        "density",
        "conservative term: an average by densities; or as published, with density 1 / (2 * width) "
        "and terms divided by 2 * candidates",
        source="2006.04779 eq. 4; " + CODE,
        choices=("density", "published"),
    )
    learning_rate: float = redefault(StepSettings, "learning_rate", 1e-5, source=CODE)
    best_of: int = setting(
        5, "number of candidate answers in acting; the best by target Q is chosen", source=CODE, low=1
    )


class Chai(OfflineLearner):
    """CHAI on the policy of an `Actor`. The policy does not learn; use a clone of the data."""

    Config: ClassVar[type] = Config
    name = "chai"
    acting = ("best_of",)

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        settings: dict[str, Any] = {
            "number": config.candidates,
            "megabytes": config.cache,
            "token_budget": config.token_budget,
        }
        self.candidates = Candidates(model, **settings, key=key.child("candidates"))
        if config.candidates > 1 and self.candidates.decoding.method != "sample":
            method = self.candidates.decoding.method
            raise BadSetting(
                f"candidates = {config.candidates} with decoding.method = {method!r}: all candidates "
                "are the same; use 'sample'"
            )
        self.agent(model, True)  # refuses decoding that cannot draw several answers, before learning starts

    def networks(self, model: Actor, key: Key) -> FeatureValues:
        """One Q for a state with its answer."""
        config = self.config
        limits = {"value_min": config.value_min, "value_max": config.value_max}
        values = FeatureValues(
            width(model.policy), double=config.double_q, initial=config.initial_value, **limits, key=key
        )
        return values.to(model.device, pretrained.exact(model.policy.dtype))

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, which chooses the best of several answers by target Q."""
        best = BestOf(
            self.config.best_of, FeatureScore(model.policy, attached_networks(model), model.format.pad)
        )
        # version 0: the policy does not learn
        return LanguageModelAgent.of(model, evaluating, 0, best_of=best, name=self.name)

    def loss(
        self, model: Actor, batch: TokenBatch, minibatch: TokenBatch
    ) -> tuple[Float[Tensor, ""], dict[str, Tensor]]:
        """The part of a micro-batch in the loss of its minibatch, and the logged values."""
        config, values, view = self.config, attached_networks(model), utterances(batch)
        answers, alive = int(utterances(minibatch).real.sum()), view.alive[view.real]
        with torch.no_grad():
            means = mean_states(model.policy, batch.tokens)
        row = view.real.nonzero()[:, 0]
        q = values.q(means[row, view.action[view.real]])
        best = torch.zeros_like(q[0])
        if bool(alive.any()):
            after = self.candidates.of(_before(batch, row[alive], view.next[view.real][alive]))[0]
            best[alive] = values.target_q(after).amax(1)
        reward = view.reward[view.real]
        error = losses.q_loss(
            q, losses.bellman_target(reward, best, alive, torch.full_like(reward, config.gamma))
        )
        total, logged = (
            error.sum() / answers,
            {"answers/q_loss": error, "answers/q": torch.stack(q).mean(0), "answers/best_q": best[alive]},
        )
        if config.cql_weight:
            cql = self.cql(values, q, _before(batch, row, view.state[view.real]))
            total, logged = (
                total + config.cql_weight * cql.sum() / answers,
                {**logged, "answers/cql_loss": cql},
            )
        return total, logged

    def cql(
        self, values: FeatureValues, q: tuple[Float[Tensor, " N"], ...], states: list[list[int]]
    ) -> Float[Tensor, " N"]:
        """The conservative term of each answer, summed over heads."""
        features, logprob = self.candidates.of(states)
        random = torch.stack([self._random(ids, features.shape[1:]) for ids in states]).to(features)
        published, size = self.config.cql_form == "published", features.shape[-1]
        density = -math.log(2 * size) if published else -size * math.log(2)
        heads = zip(q, values.q(features), values.q(random), strict=True)
        settings: dict[str, Any] = {"log_density": density, "published": published}
        return torch.stack(
            [
                losses.candidates_cql_loss(data, drawn, logprob.to(drawn), other, **settings)
                for data, drawn, other in heads
            ]
        ).sum(0)

    def _random(self, ids: list[int], shape: torch.Size) -> Tensor:
        """Random features in [-1, 1] for this gradient step and state.

        They do not depend on the other rows.
        """
        uniform = (
            self.key.child("random features", self.gradient.steps, name_of(ids))
            .generator()
            .random(tuple(shape), dtype=np.float32)
        )
        # drawn in float32, so equal for every dtype of the model
        return torch.from_numpy(2 * uniform.astype(np.float64) - 1)

    def after_update(self, model: Actor) -> dict[str, float]:
        """The number of states with cached candidates, in all processes."""
        return {"candidates/states": parallel.total(len(self.candidates))}

    def state_dict(self) -> dict[str, Any]:
        """The optimizer, counters, and the cached candidates."""
        return {**super().state_dict(), "candidates": self.candidates.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state from `state_dict`; BadCheckpoint if it belongs to another model."""
        super().load_state_dict(state)
        self.candidates.load_state_dict(state["candidates"])


def _before(batch: TokenBatch, row: Tensor, place: Tensor) -> list[list[int]]:
    """For each row, its token ids up to and including a position."""
    return [batch.tokens[b, : p + 1].tolist() for b, p in zip(row.tolist(), place.tolist(), strict=True)]
