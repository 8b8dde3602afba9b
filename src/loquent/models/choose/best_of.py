"""The best of several answers, by a score of whole utterances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from loquent.errors import BadModel, BadSetting
from loquent.models.decode.drawn import Drawn
from loquent.models.score.acted import answers_laid, states
from loquent.pretrained import evaluating, groups

if TYPE_CHECKING:
    from loquent.models.values.networks import TokenValues

Score = Callable[[Sequence[Sequence[int]], Sequence[Drawn]], Sequence[float]]
"""From prompts and one answer to each (whole, with its end token where it has one) to one number each.

More is better.
"""


@dataclass(frozen=True)
class BestOf:
    """Of so many answers to one question the one with the highest score is given; of equal ones the first.

    Raises:
        BadSetting: there is not one answer to take.
    """

    number: int
    score: Score

    def __post_init__(self) -> None:
        if self.number < 1:
            raise BadSetting(f"number = {self.number}: the best of at least 1 answer can be taken")

    def choose(self, prompts: Sequence[Sequence[int]], candidates: Sequence[Sequence[Drawn]]) -> list[Drawn]:
        """The best answer to each prompt; all are scored in one call.

        Raises:
            BadModel: a score is no number.
        """
        if self.number == 1 or not candidates:
            return [some[0] for some in candidates]
        flat = [answer for some in candidates for answer in some]
        scores = iter(
            self.score([prompt for prompt, some in zip(prompts, candidates, strict=True) for _ in some], flat)
        )
        chosen = []
        for some in candidates:
            mine = [float(next(scores)) for _ in some]
            if any(math.isnan(one) for one in mine):
                raise BadModel(
                    f"an answer's score is no number: {mine}; the score, or the values it reads, are "
                    "not finite"
                )
            chosen.append(some[max(range(len(some)), key=mine.__getitem__)])
        return chosen


def log_probability(prompts: Sequence[Sequence[int]], answers: Sequence[Drawn]) -> list[float]:
    """The log-probability of each answer in the distribution it was drawn from."""
    return [float(answer.tokens.drawn_logprob.sum()) for answer in answers]


@dataclass(frozen=True)
class AdvantageScore:
    """advantage_weight * sum of (T - V) + logprob_weight * log-probability, over an answer's own tokens
    (arXiv:2206.11871, released code).

    Args:
        module: the policy, whose hidden states values may read.
        pad: fills rows of unequal length.
        token_budget: padded tokens of one forward pass.
    """

    module: Any
    values: TokenValues
    pad: int
    advantage_weight: float = 1.0
    logprob_weight: float = 0.0
    token_budget: int = 8192

    @torch.no_grad()
    def __call__(self, prompts: Sequence[Sequence[int]], answers: Sequence[Drawn]) -> list[float]:
        """One score an answer; each network reads all answers once."""
        scores = [self.logprob_weight * one for one in log_probability(prompts, answers)]
        if self.advantage_weight:
            said = [answer.tokens.ids.tolist() for answer in answers]
            with evaluating(self.module, self.values):
                for some in groups(
                    [len(prompt) + len(one) for prompt, one in zip(prompts, said, strict=True)],
                    self.token_budget,
                ):
                    tokens, where = answers_laid(
                        [prompts[i] for i in some], [said[i] for i in some], self.pad, self.module.device
                    )
                    found = taken_advantages(self.module, self.values, tokens, where)
                    for i, part in zip(some, found.split([len(said[i]) for i in some]), strict=True):
                        scores[i] += self.advantage_weight * float(part.double().sum())
        return scores


def taken_advantages(
    module: Any, values: TokenValues, tokens: torch.Tensor, where: torch.Tensor
) -> torch.Tensor:
    """T - V of the N tokens that follow the positions `where`, [N]: of the target heads' columns for these
    tokens alone.
    """
    value = module if values.value_trunk is None else values.value_trunk
    target, own = states(
        [value if values.target_trunk is None else values.target_trunk, value], tokens, where
    )
    return values.target_taken(target, tokens.roll(-1, 1)[where]) - values.v(own)
