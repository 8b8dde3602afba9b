"""The choice of the best of several answers by a score of whole utterances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from loquent.errors import BadModel, BadSetting
from loquent.models.engine import Drawn
from loquent.models.score.action_scores import padded_answers, states
from loquent.pretrained import evaluating, groups

if TYPE_CHECKING:
    from loquent.models.values.networks import TokenValues

Score = Callable[[Sequence[Sequence[int]], Sequence[Drawn]], Sequence[float]]
"""From prompts and one answer to each to one number for each; more is better.

The answers are whole, with their end tokens if they have them.
"""


@dataclass(frozen=True)
class BestOf:
    """The choice of the answer with the highest score among `number` answers; of equal scores the first.

    Raises:
        BadSetting: `number` is less than 1.
    """

    number: int
    score: Score

    def __post_init__(self) -> None:
        if self.number < 1:
            raise BadSetting(
                f"number must be an integer of at least 1, got number = {self.number}; choose more answers"
            )

    def choose(self, prompts: Sequence[Sequence[int]], candidates: Sequence[Sequence[Drawn]]) -> list[Drawn]:
        """The best answer to each prompt; all are scored in one call.

        Raises:
            BadModel: a score is NaN.
        """
        if self.number == 1 or not candidates:
            return [answers[0] for answers in candidates]
        flat = [answer for answers in candidates for answer in answers]
        repeated = [prompt for prompt, answers in zip(prompts, candidates, strict=True) for _ in answers]
        remaining = iter(self.score(repeated, flat))
        chosen = []
        for answers in candidates:
            scores = [float(next(remaining)) for _ in answers]
            if any(math.isnan(score) for score in scores):
                raise BadModel(
                    f"an answer's score is no number: {scores}; all scores must be numbers. Check that the "
                    "values that the score reads are finite"
                )
            chosen.append(answers[max(range(len(answers)), key=scores.__getitem__)])
        return chosen


def log_probability(prompts: Sequence[Sequence[int]], answers: Sequence[Drawn]) -> list[float]:
    """The log-probability of each answer in the distribution from which it was drawn."""
    return [float(answer.tokens.drawn_logprob.sum()) for answer in answers]


@dataclass(frozen=True)
class AdvantageScore:
    """The score: advantage_weight * sum of (T - V) + logprob_weight * log-probability.

    The sum is over the tokens of an answer (released code of arXiv:2206.11871).

    Args:
        module: the policy, whose hidden states the values may read.
        pad: the id of padding.
        token_budget: the most padded tokens of a forward pass.
    """

    module: Any
    values: TokenValues
    pad: int
    advantage_weight: float = 1.0
    logprob_weight: float = 0.0
    token_budget: int = 8192

    @torch.no_grad()
    def __call__(self, prompts: Sequence[Sequence[int]], answers: Sequence[Drawn]) -> list[float]:
        """One score for each answer. Each network reads each answer once."""
        scores = [self.logprob_weight * logprob for logprob in log_probability(prompts, answers)]
        if not self.advantage_weight:
            return scores
        ids = [answer.tokens.ids.tolist() for answer in answers]
        lengths = [len(prompt) + len(row) for prompt, row in zip(prompts, ids, strict=True)]
        with evaluating(self.module, self.values):
            for group in groups(lengths, self.token_budget):
                tokens, where = padded_answers(
                    [prompts[i] for i in group], [ids[i] for i in group], self.pad, self.module.device
                )
                advantages = taken_advantages(self.module, self.values, tokens, where)
                for i, part in zip(group, advantages.split([len(ids[i]) for i in group]), strict=True):
                    scores[i] += self.advantage_weight * float(part.double().sum())
        return scores


def taken_advantages(
    module: Any, values: TokenValues, tokens: torch.Tensor, where: torch.Tensor
) -> torch.Tensor:
    """T - V of the N tokens that follow the positions `where`, [N].

    Only the columns of the target heads for these tokens are computed.
    """
    value_trunk = module if values.value_trunk is None else values.value_trunk
    target_trunk = value_trunk if values.target_trunk is None else values.target_trunk
    target_states, value_states = states([target_trunk, value_trunk], tokens, where)
    return values.target_taken(target_states, tokens.roll(-1, 1)[where]) - values.v(value_states)
