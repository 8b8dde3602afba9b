"""The value of whole answers, as a score by which the best of several is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from loquent.models.choose.best_of import log_probability
from loquent.models.decode.drawn import Drawn
from loquent.models.score.acted import answers_laid, states
from loquent.models.values.networks import TokenValues
from loquent.pretrained import evaluating, groups


@dataclass(frozen=True)
class AnswerScore:
    """Target Q after the whole answer + logprob_weight * log-probability (arXiv:2206.11871, the released
    code's utterance policy).

    Args:
        module: the policy, whose hidden states values may read.
        values: with one value a Q-head.
        pad: fills rows of unequal length.
        token_budget: padded tokens of one forward pass.
    """

    module: Any
    values: TokenValues
    pad: int
    logprob_weight: float = 0.0
    token_budget: int = 8192

    @torch.no_grad()
    def __call__(self, prompts: Sequence[Sequence[int]], answers: Sequence[Drawn]) -> list[float]:
        """One score an answer; the network that the target heads read reads all answers once."""
        scores = [self.logprob_weight * one for one in log_probability(prompts, answers)]
        said = [answer.tokens.ids.tolist() for answer in answers]
        values = self.values
        network = next(
            (part for part in (values.target_trunk, values.value_trunk) if part is not None), self.module
        )
        with evaluating(self.module, values):
            for some in groups(
                [len(prompt) + len(one) for prompt, one in zip(prompts, said, strict=True)], self.token_budget
            ):
                tokens, _ = answers_laid(
                    [prompts[i] for i in some], [said[i] for i in some], self.pad, self.module.device
                )
                ends = torch.tensor([len(prompts[i]) + len(said[i]) - 1 for i in some], device=tokens.device)
                where = torch.arange(tokens.shape[1], device=tokens.device) == ends[:, None]
                found = values.target_q(states([network], tokens, where)[0])[:, 0]
                for i, value in zip(some, found.tolist(), strict=True):
                    scores[i] += value
        return scores
