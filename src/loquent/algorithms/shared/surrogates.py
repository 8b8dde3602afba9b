"""Surrogates of the policy's objective per token: what a ratio r and an advantage A count, as pure functions.

Each has the gradient -A ∇ log π where r is 1.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from loquent.algorithms.shared import losses


class Bounds(NamedTuple):
    """What limits the influence of a ratio."""

    low: float  # ε: a ratio is clipped from below at 1 - ε
    high: float | None = None  # from above at 1 + high; None: 1 + ε
    cap: float | None = None  # the greatest ratio that counts; None: any
    positive: float = 1.0  # SAPO's temperatures, by the sign of the advantage
    negative: float = 1.05


Column = Float[Tensor, " N"]
Surrogate = tuple[Column, Column, Bool[Tensor, " N"]]
"""The negated surrogate of each token, the ratio, and whether it is outside the bounds."""


def clip(log_ratio: Column, logprob: Column, advantage: Column, bounds: Bounds) -> Surrogate:
    """-min(min(r, cap) A, clip(r, 1 - ε, 1 + ε_high) A): PPO's, and with a cap the two-sided one.

    Without a cap, a token with A < 0 and a large ratio has a gradient of any size. Source: arXiv:1707.06347
    eq. 7; the cap is δ of arXiv:2505.07291 (INTELLECT-2) and of TRL.
    """
    return losses.clipped_surrogate(
        log_ratio, torch.zeros_like(log_ratio), advantage, bounds.low, bounds.high, bounds.cap
    )


def cispo(log_ratio: Column, logprob: Column, advantage: Column, bounds: Bounds) -> Surrogate:
    """-min(r, cap) A log π, where min(r, cap) is a weight without a gradient (CISPO).

    No token loses its gradient. Source: arXiv:2506.13585 eq. 4 and 5, without a lower bound, as there. The
    cap is 1 + ε_high of the paper, and `epsilon_high` of TRL.
    """
    ratio = log_ratio.exp()
    weight = ratio.detach() if bounds.cap is None else ratio.detach().clamp(max=bounds.cap)
    return -weight * advantage * logprob, ratio, ratio > weight


def sapo(log_ratio: Column, logprob: Column, advantage: Column, bounds: Bounds) -> Surrogate:
    """-4 / τ σ(τ (r - 1)) A, where the sign of A chooses the temperature τ (SAPO).

    A soft gate in place of clipping: its slope is 1 at r = 1 and falls on both sides. Source:
    arXiv:2511.20347. A ratio is called outside where `clip` would clip it.
    """
    ratio = log_ratio.exp()
    temperature = torch.full_like(advantage, bounds.negative).masked_fill(advantage > 0, bounds.positive)
    gate = torch.sigmoid(temperature * (ratio - 1)) * 4 / temperature
    high = bounds.low if bounds.high is None else bounds.high
    return -gate * advantage, ratio, (ratio - 1 < -bounds.low) | (ratio - 1 > high)


SURROGATES: Mapping[str, Callable[[Column, Column, Column, Bounds], Surrogate]] = {
    "clip": clip,
    "cispo": cispo,
    "sapo": sapo,
}
