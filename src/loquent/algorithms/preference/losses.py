"""Losses of preferences, as pure functions of the log-probabilities of whole answers.

A log-ratio is log π(y|x) - log π_ref(y|x), a sum over the answer's tokens.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor

KINDS = ("sigmoid", "sigmoid_norm", "hinge", "ipo", "robust")
PER_TOKEN = ("sigmoid_norm", "ipo")
"""The losses of log-ratios that are divided by the tokens of their answer."""


def dpo_loss(
    log_ratio: Float[Tensor, "P 2"],
    length: Int64[Tensor, "P 2"],
    *,
    kind: str,
    beta: float,
    label_smoothing: float = 0.0,
) -> Float[Tensor, " P"]:
    """The loss of each pair, with h = log-ratio of the chosen answer - log-ratio of the rejected one.

    - "sigmoid": -(1 - ε) log σ(βh) - ε log σ(-βh); DPO (arXiv:2305.18290 eq. 7), and with ε > 0 conservative
      DPO (Mitchell 2023).
    - "sigmoid_norm": the same with log-ratios per token (length-normalised DPO of arXiv:2411.15124, as TRL).
    - "hinge": max(0, 1 - βh) (arXiv:2309.06657; the loss of arXiv:2305.10425 on log-ratios).
    - "ipo": (h - 1 / (2β))² with log-ratios per token (arXiv:2310.12036 eq. 17; the division is TRL's, and by
      its code that of the paper's results).
    - "robust": (-(1 - ε) log σ(βh) + ε log σ(-βh)) / (1 - 2ε), unbiased where a share ε of the labels is
      wrong (arXiv:2403.00409).

    Args:
        log_ratio: of the chosen and of the rejected answer.
        length: tokens of these answers.
        label_smoothing: ε.
    """
    if kind in PER_TOKEN:
        log_ratio = log_ratio / length
    margin = log_ratio[:, 0] - log_ratio[:, 1]
    if kind == "ipo":
        return (margin - 1 / (2 * beta)).square()
    if kind == "hinge":
        return torch.relu(1 - beta * margin)
    right, wrong = -F.logsigmoid(beta * margin), -F.logsigmoid(-beta * margin)
    if kind == "robust":
        return ((1 - label_smoothing) * right - label_smoothing * wrong) / (1 - 2 * label_smoothing)
    return (1 - label_smoothing) * right + label_smoothing * wrong


def kto_loss(
    log_ratio: Float[Tensor, " A"],
    desirable: Bool[Tensor, " A"],
    kl: float,
    *,
    beta: float,
    desirable_weight: float = 1.0,
    undesirable_weight: float = 1.0,
) -> Float[Tensor, " A"]:
    """λ_D (1 - σ(β (log-ratio - z))) of a desirable answer, λ_U (1 - σ(β (z - log-ratio))) of another.

    Source: arXiv:2402.01306 eq. 7.

    Args:
        kl: z, the estimate of KL(π, π_ref), which has no gradient.
    """
    gain = torch.where(desirable, log_ratio - kl, kl - log_ratio)
    loss = torch.sigmoid(-beta * gain)
    return torch.where(desirable, desirable_weight * loss, undesirable_weight * loss)


def log_odds_ratio(logprob: Float[Tensor, "P 2"]) -> Float[Tensor, " P"]:
    """log(odds(chosen) / odds(rejected)) with odds(y) = p / (1 - p) (arXiv:2403.07691 eq. 4 and 7).

    Args:
        logprob: log p of both answers, the mean over their tokens.
    """
    log_odds = logprob - log_complement(logprob)
    return log_odds[:, 0] - log_odds[:, 1]


def log_complement(logprob: Tensor) -> Tensor:
    """log(1 - exp(x)) of x < 0, exact at both ends; x is at most the smallest step below 0."""
    x = logprob.clamp(max=-torch.finfo(logprob.dtype).eps)
    return torch.where(x < -math.log(2), torch.log1p(-x.exp()), torch.log(-torch.expm1(x)))
