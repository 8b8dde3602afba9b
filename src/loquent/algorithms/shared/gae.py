"""Generalised advantage estimation over the action tokens of a batch.

Sources: arXiv:1506.02438; arXiv:2210.01241 eq. 4 and 5.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def discounts(
    turn: Int[Tensor, "B A"], real: Bool[Tensor, "B A"], gamma: float, per: str
) -> Float[Tensor, "B A"]:
    """The discount factor after each action token, in float64.

    It is `gamma`; within a turn it is 1 if `per` is "turn". The last action token of a row is always the end
    of a turn. Callers round the factors once, to their own precision.
    """
    shape = turn.shape
    if per == "token":
        return torch.full(shape, gamma, dtype=torch.float64, device=turn.device)
    inside = torch.zeros(shape, dtype=torch.bool, device=turn.device)
    inside[:, :-1] = (turn[:, 1:] == turn[:, :-1]) & real[:, 1:]
    return torch.full(shape, gamma, dtype=torch.float64, device=turn.device).masked_fill(inside, 1.0)


def gae(
    reward: Float[Tensor, "B A"],
    value: Float[Tensor, "B A"],
    real: Bool[Tensor, "B A"],
    alive: Bool[Tensor, "B A"],
    bootstrap: Float[Tensor, " B"],
    discount: Float[Tensor, "B A"],
    lam: float,
) -> tuple[Float[Tensor, "B A"], Float[Tensor, "B A"]]:
    """Advantages, and λ-returns as targets of the value function; both are 0 where `real` is False.

    Args:
        real: whether an entry is an action token; False on the padding at the right.
        alive: whether the episode continued after this token; only then the next value is used. It may be
            False inside a row that holds two episodes; no reward passes that border.
        bootstrap: the value of the state after a row's last real token.
        discount: the factor between a token and the next one, from `discounts`.
        lam: λ of eq. 5, the decay per action token.
    """
    advantage = torch.zeros_like(reward)
    next_value, next_advantage = bootstrap, torch.zeros_like(bootstrap)
    for j in reversed(range(reward.shape[1])):
        factor = discount[:, j] * alive[:, j]
        delta = reward[:, j] + factor * next_value - value[:, j]  # δ_t, eq. 4 with the discount that it omits
        current = delta + factor * lam * next_advantage  # Â_t = δ_t + γλ Â_{t+1}, eq. 5
        advantage[:, j] = torch.where(real[:, j], current, 0.0)
        next_value = torch.where(real[:, j], value[:, j], next_value)
        next_advantage = torch.where(real[:, j], current, next_advantage)
    return advantage, torch.where(real, advantage + value, 0.0)
