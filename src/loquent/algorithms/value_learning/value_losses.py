"""Losses and targets of offline value learning, as pure functions.

The formulas are those of ILQL (arXiv:2206.11871) and related methods. Functions return a number for each
action token. Entries elsewhere (padding, states after an end) are ignored: `sum_real`
omits them, and `bellman_target` does not use values after an end. Callers divide sums by the tokens
of the whole minibatch.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor

MODES = ("exponential", "sign")


def bellman_target(
    reward: Float[Tensor, "*N"],
    following: Float[Tensor, "*N"],
    alive: Bool[Tensor, "*N"],
    discount: Float[Tensor, "*N"],
) -> Float[Tensor, "*N"]:
    """The target r_j + γ_j · alive_j · V(s_{j+1}), without a gradient.

    Args:
        following: value of the next state; ignored where `alive` is False.
        alive: whether the episode continued after this token.
        discount: γ_j of each token, from `gae.discounts`.
    """
    return reward + torch.where(alive, discount * following.detach(), 0.0)


def q_loss(values: tuple[Float[Tensor, "*N"], ...], target: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """L_Q: Σ_i (target_j - Q_i(s_j, a_j))², a sum over heads without the factor ½."""
    return torch.stack([(target.detach() - value).square() for value in values]).sum(0)


def expectile_loss(
    target: Float[Tensor, "*N"], value: Float[Tensor, "*N"], tau: float
) -> Float[Tensor, "*N"]:
    """L_V: w_j · (T_j - V(s_j))², w_j = τ if T_j ≥ V(s_j), else 1 - τ (arXiv:2110.06169 eq. 5).

    T has no gradient.
    """
    error = target.detach() - value
    return _either(error >= 0, tau, 1 - tau, error) * error.square()


def cql_loss(
    q: Float[Tensor, "N V"], taken: Int64[Tensor, " N"], temperature: float = 1.0
) -> Float[Tensor, " N"]:
    """L_CQL: logsumexp_a Q(s_j, a)/t - Q(s_j, a_j)/t, the cross-entropy of the action.

    Source: arXiv:2006.04779 eq. 4, per token.
    """
    return F.cross_entropy(q / temperature if temperature != 1 else q, taken, reduction="none")


def candidates_cql_loss(
    data: Float[Tensor, " N"],
    candidates: Float[Tensor, "N K"],
    logprob: Float[Tensor, "N K"],
    random: Float[Tensor, "N K"],
    log_density: float,
    *,
    published: bool = False,
) -> Float[Tensor, " N"]:
    """CQL(H) in CHAI: the log-mean-exp of Q - log density, minus Q of the recorded answer.

    The mean is over the candidates and as many random features.

    Args:
        logprob: log-probability of each candidate when drawn.
        log_density: log density of a random feature.
        published: use the form of ILQL's released code: log-sum-exp of (Q - log density) / 2K.
    """
    both = torch.cat([candidates - logprob, random - log_density], 1)
    if published:
        return (both / both.shape[1]).logsumexp(1) - data
    return both.logsumexp(1) - math.log(both.shape[1]) - data


def margin_loss(q: Float[Tensor, "N V"], taken: Int64[Tensor, " N"], margin: float) -> Float[Tensor, " N"]:
    """L_DM: Σ_a max(Q(s_j, a) - Q(s_j, a_j) + margin, 0)², the squared large margin of ILQL's released code.

    The sum includes the action itself, so the minimum is margin².
    """
    return (q - of(q, taken)[:, None] + margin).clamp_min(0).square().sum(-1)


def of(q: Float[Tensor, "N V"], taken: Int64[Tensor, " N"]) -> Float[Tensor, " N"]:
    """The values of the actions."""
    return q.gather(1, taken[:, None])[:, 0]


def awac_weight(
    target: Float[Tensor, "*N"],
    value: Float[Tensor, "*N"],
    *,
    beta: float,
    mode: str = "exponential",
    clip: float | None = None,
) -> Float[Tensor, "*N"]:
    """The weight of a token's log-likelihood, without a gradient: exp(β (T_j - V(s_j))).

    Source: arXiv:2006.09359 eq. 9. With the mode "sign" the weight is β if T_j > V(s_j), else 1 - β. It is at
    most `clip`.
    """
    advantage = (target - value).detach()
    weight = (
        (beta * advantage).exp()
        if mode == "exponential"
        else _either(advantage > 0, beta, 1 - beta, advantage)
    )
    return weight if clip is None else weight.clamp_max(clip)


def _either(
    condition: Bool[Tensor, "*N"], yes: float, no: float, like: Float[Tensor, "*N"]
) -> Float[Tensor, "*N"]:
    """One of two numbers, in the dtype of `like`; `torch.where` would round them to float32."""
    return torch.full_like(like, no).masked_fill(condition, yes)


def reward_to_go(
    reward: Float[Tensor, "B A"],
    real: Bool[Tensor, "B A"],
    discount: Float[Tensor, "B A"],
    after: Float[Tensor, " B"] | None = None,
) -> Float[Tensor, "B A"]:
    """The rewards to go Σ_{k ≥ j} (Π_{j ≤ i < k} γ_i) r_k over the real tokens of a row; 0 elsewhere.

    Args:
        after: rewards to go after the end of each row, by default 0.
    """
    returns = torch.zeros_like(reward)
    following = reward.new_zeros(len(reward)) if after is None else after
    for j in reversed(range(reward.shape[1])):
        current = reward[:, j] + discount[:, j] * following
        following = torch.where(real[:, j], current, following)
        returns[:, j] = torch.where(real[:, j], current, 0.0)
    return returns


def huber_loss(values: tuple[Float[Tensor, "*N"], ...], target: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """The sum over heads Σ_i of the Huber loss (δ = 1) of Q_i(s_j, a_j)."""
    return torch.stack([F.huber_loss(value, target.detach(), reduction="none") for value in values]).sum(0)


def sum_real(losses: Float[Tensor, "*N"], real: Bool[Tensor, "*N"]) -> Float[Tensor, ""]:
    """The sum over real action tokens; other entries, even NaN, have no effect and no gradient."""
    return torch.where(real, losses, 0.0).sum()
