"""Generalised advantage estimation over the action tokens of a batch (arXiv:1506.02438; 2210.01241 eq. 4 and 5)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def discounts(turn: Int[Tensor, "B A"], real: Bool[Tensor, "B A"], gamma: float, per: str) -> Float[Tensor, "B A"]:
    """What the value after each action token is multiplied by: gamma, or in the middle of a turn 1 when `per` is "turn".

    The last action token of a row always counts as the end of its turn.
    """
    shape = turn.shape
    if per == "token":
        return torch.full(shape, gamma, device=turn.device)
    inside = torch.zeros(shape, dtype=torch.bool, device=turn.device)
    inside[:, :-1] = (turn[:, 1:] == turn[:, :-1]) & real[:, 1:]
    return torch.where(inside, 1.0, gamma)


def gae(
    reward: Float[Tensor, "B A"],
    value: Float[Tensor, "B A"],
    real: Bool[Tensor, "B A"],
    alive: Bool[Tensor, "B A"],
    bootstrap: Float[Tensor, " B"],
    discount: Float[Tensor, "B A"],
    lam: float,
) -> tuple[Float[Tensor, "B A"], Float[Tensor, "B A"]]:
    """Advantages and lambda-returns (the value function's targets); both 0 where `real` is False.

    Args:
        real: False on the padding at the right of a row.
        alive: whether the game went on after this token; a value is bootstrapped only where it did. It may be False inside a
            row (two games packed into one): nothing flows back over that border.
        bootstrap: the value of the state after a row's last real token.
        discount: the factor between a token and its successor, from `discounts`.
        lam: the trace's decay per action token, lambda of eq. 5.
    """
    advantage = torch.zeros_like(reward)
    next_value, next_advantage = bootstrap, torch.zeros_like(bootstrap)
    for j in reversed(range(reward.shape[1])):
        factor = discount[:, j] * alive[:, j]
        delta = reward[:, j] + factor * next_value - value[:, j]  # δ_t, eq. 4 with the discount it leaves out
        now = delta + factor * lam * next_advantage  # Â_t = δ_t + γλ Â_{t+1}, eq. 5
        advantage[:, j] = torch.where(real[:, j], now, 0.0)
        next_value = torch.where(real[:, j], value[:, j], next_value)
        next_advantage = torch.where(real[:, j], now, next_advantage)
    return advantage, torch.where(real, advantage + value, 0.0)
