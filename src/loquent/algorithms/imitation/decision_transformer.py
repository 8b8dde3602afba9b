"""Decision Transformer (arXiv:2106.01345): cloning conditioned on the return, acting on a high return.

This is the variant of ILQL's paper and code (arXiv:2206.11871 sec. 6). All answers of an episode are
conditioned on its total return. In acting, the condition is a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.agents.language_model import LanguageModelAgent
from loquent.algorithms.imitation import cloning
from loquent.algorithms.imitation.cloning import LOGGED, Cloning
from loquent.algorithms.policy_gradient.on_policy import START
from loquent.core.agent import Answer, Question
from loquent.core.seeding import Key, borrow_generators
from loquent.core.settings import setting
from loquent.errors import LoquentError
from loquent.models.actor import Actor
from loquent.models.conditioning import Conditioning, shift_embeddings
from loquent.models.engine import refuse
from loquent.models.tokens.batch import TokenBatch
from loquent.pretrained.learning.optimization import Parameters, trainable

__all__ = ["LOGGED", "Config", "DecisionTransformer"]


@dataclass(frozen=True, kw_only=True)
class Config(cloning.Config):
    """Settings of `decision_transformer`."""

    wanted_return: float = setting(
        0.0,
        "return that the policy is conditioned on in acting, in every state",
        source="2206.11871: from 0 to -11",
    )


class DecisionTransformer(Cloning):
    """Cloning of recorded answers, conditioned on the return of their episode."""

    Config: ClassVar[type] = Config
    name = "decision_transformer"
    acting = ("wanted_return",)

    def __init__(self, config: Any, model: Actor, *, key: Key = START) -> None:
        with borrow_generators(key.child("conditioning")):
            model.conditioning = Conditioning(model.policy)
        super().__init__(config, model, key=key)

    def learned_parameters(self, model: Actor) -> Parameters:
        """The parameters of the policy and of what conditions it."""
        return trainable(policy=model.policy, conditioning=model.conditioning)

    def agent(self, model: Actor, evaluating: bool) -> LanguageModelAgent:
        """The policy, conditioned on `wanted_return`."""
        return ConditionedAgent.of(
            model,
            evaluating,
            self.updates,
            conditioning=_conditioning(model),
            target_return=self.config.wanted_return,
            name=self.name,
        )

    def prepare(self, batch: TokenBatch) -> TokenBatch:
        """The batch with the total return of each row's episode as `target`, at every position; pure."""
        total = episode_returns(batch)
        return replace(super().prepare(batch), target=total[:, None].expand(batch.tokens.shape).contiguous())

    def _nll(self, model: Actor, batch: TokenBatch) -> tuple[Float[Tensor, ""], Float[Tensor, " N"]]:
        if batch.target is None:
            raise LoquentError(
                "the batch has no returns: it has not been prepared; call prepare(batch) first"
            )
        with shift_embeddings(model.policy, _conditioning(model)(batch.target[:, 0].to(model.device))):
            return super()._nll(model, batch)


class ConditionedAgent(LanguageModelAgent):
    """A language model conditioned on a return."""

    def __init__(
        self, *arguments: Any, conditioning: Conditioning, target_return: float, **settings: Any
    ) -> None:
        super().__init__(*arguments, **settings)
        refuse(self.engine, {"conditioning": f"algorithm.wanted_return = {target_return:g}"})
        self.conditioning, self.target_return = conditioning, target_return

    @property
    def decoding_text(self) -> str:
        """The decoding settings, with the return that the model is conditioned on."""
        return f"{super().decoding_text}, conditioned on a return of {self.target_return:g}"

    def answer(self, asked: Sequence[Question]) -> list[Answer]:
        """One answer per question, in order."""
        with torch.no_grad():
            shift = self.conditioning(
                torch.tensor([self.target_return], dtype=torch.float64, device=self.module.device)
            )
        with shift_embeddings(self.module, shift):
            return super().answer(asked)


def episode_returns(batch: TokenBatch) -> Float[Tensor, " B"]:
    """The undiscounted return of the whole episode of each row; a long episode may fill several rows."""
    episodes, index = batch.episode.unique(return_inverse=True)
    returns = torch.zeros(len(episodes), dtype=torch.float64, device=batch.reward.device)
    return returns.index_add_(0, index, batch.reward.double().sum(1))[index].to(batch.reward)


def _conditioning(model: Actor) -> Conditioning:
    if model.conditioning is None:
        raise LoquentError(
            "the actor has no conditioning; keep the one that the algorithm attached as `conditioning`"
        )
    return model.conditioning
