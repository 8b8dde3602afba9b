"""A score of whole answers by their values, which chooses the best of several answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from loquent.models.choose.best_of import log_probability
from loquent.models.engine import Drawn
from loquent.models.score.action_scores import padded_answers, states
from loquent.models.values.networks import TokenValues
from loquent.pretrained import evaluating, groups


@dataclass(frozen=True)
class AnswerScore:
    """The score: target Q after the whole answer + logprob_weight * log-probability.

    This is the utterance policy in the released code of arXiv:2206.11871.

    Args:
        module: the policy, whose hidden states the values may read.
        values: values with one output for each Q-head.
        pad: the id of padding.
        token_budget: the most padded tokens of a forward pass.
    """

    module: Any
    values: TokenValues
    pad: int
    logprob_weight: float = 0.0
    token_budget: int = 8192

    @torch.no_grad()
    def __call__(self, prompts: Sequence[Sequence[int]], answers: Sequence[Drawn]) -> list[float]:
        """One score for each answer. The network below the target heads reads each answer once."""
        scores = [self.logprob_weight * logprob for logprob in log_probability(prompts, answers)]
        values, ids = self.values, [answer.tokens.ids.tolist() for answer in answers]
        lengths = [len(prompt) + len(row) for prompt, row in zip(prompts, ids, strict=True)]
        trunks = (values.target_trunk, values.value_trunk)
        network = next((trunk for trunk in trunks if trunk is not None), self.module)
        with evaluating(self.module, values):
            for group in groups(lengths, self.token_budget):
                tokens, _ = padded_answers(
                    [prompts[i] for i in group], [ids[i] for i in group], self.pad, self.module.device
                )
                ends = torch.tensor([lengths[i] - 1 for i in group], device=tokens.device)
                where = torch.arange(tokens.shape[1], device=tokens.device) == ends[:, None]
                q = values.target_q(states([network], tokens, where)[0])[:, 0]
                for i, value in zip(group, q.tolist(), strict=True):
                    scores[i] += value
        return scores
