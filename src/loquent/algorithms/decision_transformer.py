"""Decision Transformer: cloning conditioned on the return, and acting by asking for a high one (arXiv:2106.01345).

As ILQL's paper compares itself with it (arXiv:2206.11871 sec. 6, its released code): a row is conditioned on the total return of its
episode, the same from its first answer to its last, and in acting on one constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.agent import Answer, Asked
from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms import cloning
from loquent.algorithms.cloning import LOGGED, Cloning
from loquent.algorithms.optimization import adamw, trainable
from loquent.algorithms.ppo import START
from loquent.errors import LoquentError
from loquent.models.actor import Actor
from loquent.models.conditioning import Conditioning, conditioned
from loquent.models.tokens import TokenBatch
from loquent.pretrained import head
from loquent.seeding import Key, borrowed
from loquent.settings import setting

__all__ = ["LOGGED", "Config", "DecisionTransformer"]


@dataclass(frozen=True, kw_only=True)
class Config(cloning.Config):
    """What `algorithm:` may hold when `kind: decision_transformer`."""

    wanted_return: float = setting(0.0, "the return that is asked for in acting, in every state of a game", source="2206.11871: from 0 to -11")


class DecisionTransformer(Cloning):
    """Cloning of recorded answers, each told the return of its episode."""

    Config: ClassVar[type] = Config
    name = "decision_transformer"

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        super().__init__(config, model, key=key)
        head(model.policy)  # probed while nothing is conditioned
        with borrowed(key.child("conditioning")):
            model.conditioning = Conditioning(model.policy)
        self.parameters = trainable(policy=model.policy, conditioning=model.conditioning)
        self.optimizer = adamw(self.parameters, config.learning_rate, config.weight_decay)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, asked for the wanted return."""
        decoding = model.evaluation if evaluating else model.decoding
        return Asking(model, self.config.wanted_return, decoding, name=self.name)

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch, with the total return of its row's episode as `target` at every position; pure."""
        total = episode_returns(batch)
        return replace(super().prepare(batch), target=total[:, None].expand(batch.tokens.shape).contiguous())

    def _nll(self, model: Actor, batch: TokenBatch) -> tuple[Float[Tensor, ""], Float[Tensor, " N"]]:
        if batch.target is None:
            raise LoquentError("the batch has not been prepared: it has no returns")
        with conditioned(model.policy, _conditioning(model)(batch.target[:, 0].to(model.device))):
            return super()._nll(model, batch)


class Asking(LanguageModelAgent):
    """A language model that is told the return it is to reach."""

    def __init__(self, model: Actor, wanted: float, decoding: Any, *, name: str) -> None:
        super().__init__(model.policy, model.format, decoding, name=name)
        self.conditioning, self.wanted = _conditioning(model), wanted

    def answer(self, asked: Sequence[Asked]) -> list[Answer]:
        """One answer per question, in order."""
        with torch.no_grad():
            shift = self.conditioning(torch.tensor([self.wanted], device=self.module.device))
        with conditioned(self.module, shift):
            return super().answer(asked)


def episode_returns(batch: TokenBatch) -> Float[Tensor, " B"]:
    """The undiscounted return of the whole episode that each row belongs to; a long episode may be in several rows."""
    episodes, index = batch.episode.unique(return_inverse=True)
    returns = torch.zeros(len(episodes), dtype=torch.float64, device=batch.reward.device)
    return returns.index_add_(0, index, batch.reward.double().sum(1))[index].to(batch.reward)


def _conditioning(model: Actor) -> Conditioning:
    if model.conditioning is None:
        raise LoquentError("the actor's conditioning is gone; the algorithm attached it")
    return model.conditioning
