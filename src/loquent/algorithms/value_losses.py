"""Losses and targets of offline value learning, as pure functions on tensors; the formulas of ILQL (arXiv:2206.11871) and its kin.

A number for each action token; what stands at others (padding, states after an end) never counts: `summed` leaves it out, and
`bellman_target` does not look at the value of a state that has none. A caller divides sums by the tokens of its whole minibatch.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor

MODES = ("exponential", "sign")


def bellman_target(
    reward: Float[Tensor, "*N"], following: Float[Tensor, "*N"], alive: Bool[Tensor, "*N"], discount: Float[Tensor, "*N"]
) -> Float[Tensor, "*N"]:
    """r_j + γ_j · alive_j · V(s_{j+1}), without a gradient.

    Args:
        following: the value of the next state; anything where `alive` is False.
        alive: whether the game went on after this token.
        discount: γ, for each token, from `gae.discounts`.
    """
    return reward + torch.where(alive, discount * following.detach(), 0.0)


def q_loss(values: tuple[Float[Tensor, "*N"], ...], target: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """L_Q: Σ_i (target_j - Q_i(s_j, a_j))², the heads' squared errors added, not averaged; no ½."""
    return torch.stack([(target.detach() - value).square() for value in values]).sum(0)


def expectile_loss(target: Float[Tensor, "*N"], value: Float[Tensor, "*N"], tau: float) -> Float[Tensor, "*N"]:
    """L_V: w_j · (T_j - V(s_j))², w_j = τ where T_j ≥ V(s_j), 1 - τ elsewhere (arXiv:2110.06169 eq. 5); T has no gradient."""
    error = target.detach() - value
    return torch.where(error >= 0, tau, 1 - tau) * error.square()


def cql_loss(q: Float[Tensor, "N V"], taken: Int64[Tensor, " N"], temperature: float = 1.0) -> Float[Tensor, " N"]:
    """L_CQL: logsumexp_a Q(s_j, a)/t - Q(s_j, a_j)/t, the cross-entropy of the token taken (arXiv:2006.04779 eq. 4, per token)."""
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
    """Log of the mean of exp(Q - log density) over candidates and as many random features, less Q of the answer given (CHAI, CQL(H)).

    Args:
        logprob: of each candidate, as it was drawn.
        log_density: of a random feature.
        published: the form of ILQL's released code, in which each Q - log density is divided by 2K inside, and none is averaged outside.
    """
    both = torch.cat([candidates - logprob, random - log_density], 1)
    if published:
        return (both / both.shape[1]).logsumexp(1) - data
    return both.logsumexp(1) - math.log(both.shape[1]) - data


def margin_loss(q: Float[Tensor, "N V"], taken: Int64[Tensor, " N"], margin: float) -> Float[Tensor, " N"]:
    """L_DM: Σ_a max(Q(s_j, a) - Q(s_j, a_j) + margin, 0)², the squared large margin of ILQL's released code.

    The token taken counts among all a, so a perfect head still has margin².
    """
    return (q - of(q, taken)[:, None] + margin).clamp_min(0).square().sum(-1)


def of(q: Float[Tensor, "N V"], taken: Int64[Tensor, " N"]) -> Float[Tensor, " N"]:
    """The value of the token taken."""
    return q.gather(1, taken[:, None])[:, 0]


def awac_weight(
    target: Float[Tensor, "*N"], value: Float[Tensor, "*N"], *, beta: float, mode: str = "exponential", clip: float | None = None
) -> Float[Tensor, "*N"]:
    """What a token's log-likelihood counts (arXiv:2006.09359 eq. 9): exp(β (T_j - V(s_j))), or in the mode "sign" β where T_j > V(s_j) and
    1 - β elsewhere; at most `clip`; without a gradient."""
    advantage = (target - value).detach()
    weight = (beta * advantage).exp() if mode == "exponential" else torch.where(advantage > 0, beta, 1 - beta).to(advantage)
    return weight if clip is None else weight.clamp_max(clip)


def reward_to_go(
    reward: Float[Tensor, "B A"], real: Bool[Tensor, "B A"], discount: Float[Tensor, "B A"], after: Float[Tensor, " B"] | None = None
) -> Float[Tensor, "B A"]:
    """Σ_{k ≥ j} (Π_{j ≤ i < k} γ_i) r_k over the real tokens of a row, and what comes `after` it, by default nothing; 0 elsewhere."""
    found = torch.zeros_like(reward)
    following = reward.new_zeros(len(reward)) if after is None else after
    for j in reversed(range(reward.shape[1])):
        now = reward[:, j] + discount[:, j] * following
        following = torch.where(real[:, j], now, following)
        found[:, j] = torch.where(real[:, j], now, 0.0)
    return found


def huber_loss(values: tuple[Float[Tensor, "*N"], ...], target: Float[Tensor, "*N"]) -> Float[Tensor, "*N"]:
    """Σ_i of the Huber loss (δ = 1) of Q_i(s_j, a_j) against its target."""
    return torch.stack([F.huber_loss(value, target.detach(), reduction="none") for value in values]).sum(0)


def summed(losses: Float[Tensor, "*N"], real: Bool[Tensor, "*N"]) -> Float[Tensor, ""]:
    """The sum over the real action tokens; what stands elsewhere, NaN too, neither counts nor has a gradient."""
    return torch.where(real, losses, 0.0).sum()
