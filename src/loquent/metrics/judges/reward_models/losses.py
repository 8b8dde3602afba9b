"""The losses of reward models, and the score of a text from the outputs of the network."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from loquent.metrics.judges.reward_models.note import GOOD_BAD


def score(logits: Tensor) -> Tensor:
    """The score [n] of outputs [n, 1], r, or [n, 2], log P(good) - log P(bad).

    sigmoid(score of a - score of b) is the probability that a is preferred to b. For labels it is the
    probability that a is the good one if exactly one of two independent texts is good.
    """
    return logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]


def loss(logits: Tensor, objective: str, margin: Tensor | float = 0.0, centre: float = 0.0) -> Tensor:
    """The loss of each of n pairs.

    Bradley-Terry: -log sigmoid(r(chosen) - r(rejected)), Christiano et al. 2017 (arXiv:1706.03741 eq. 1) and
    Ouyang et al. 2022 (arXiv:2203.02155 eq. 1). Labels: the mean of the cross-entropies of "good" for
    the chosen text and of "bad" for the rejected one.

    Args:
        logits: [2 n, outputs], the chosen texts, then the rejected ones in the same order.
        margin: [n], subtracted from r(chosen) - r(rejected) (arXiv:2307.09288 eq. 2); Bradley-Terry only.
        centre: the weight of (r(chosen) + r(rejected))^2 (arXiv:2312.09244); Bradley-Terry only.
    """
    count = len(logits) // 2
    if objective == GOOD_BAD:
        labels = torch.arange(2, device=logits.device).flip(0).repeat_interleave(count)
        return functional.cross_entropy(logits, labels, reduction="none").view(2, count).mean(0)
    scores = score(logits)
    chosen, rejected = scores[:count], scores[count:]
    return centre * (chosen + rejected).square() - functional.logsigmoid(chosen - rejected - margin)
