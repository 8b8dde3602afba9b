"""Advantages by comparison: the answers to one row against each other, without a value function."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

EPSILON = 1e-4  # added to deviations; 2402.03300 names none, and this is TRL's


def by_group(values: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Float[Tensor, " E"]:
    """The sum of each episode's group, in the episodes' order."""
    sums = values.new_zeros(int(group.max()) + 1 if len(group) else 0)
    return sums.index_add(0, group, values)[group]


def relative(returns: Float[Tensor, " E"], group: Int64[Tensor, " E"], deviation: str) -> Float[Tensor, " E"]:
    """The advantage of each answer over its group (GRPO, arXiv:2402.03300 sec. 4.1.2).

    Args:
        returns: of each episode.
        group: the row of each episode, numbered from 0.
        deviation: "group": Â = (R - mean) / (standard deviation of the group + ε); "batch": by that of all
            episodes; "none": R - mean (Dr. GRPO, arXiv:2503.20783). Deviations are unbiased.
    """
    count = by_group(torch.ones_like(returns), group)
    centred = returns - by_group(returns, group) / count
    if deviation == "none" or len(returns) < 2:
        return centred
    if deviation == "batch":
        return centred / (returns.std() + EPSILON)
    variance = by_group(centred.square(), group) / (count - 1).clamp(min=1)
    return centred / (variance.sqrt() + EPSILON)


def leave_one_out(returns: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Float[Tensor, " E"]:
    """The return less the mean return of the other answers to the row (RLOO, arXiv:2402.14740 sec. 3).

    An answer without others has no baseline, and its advantage is 0.
    """
    others = by_group(torch.ones_like(returns), group) - 1
    baseline = (by_group(returns, group) - returns) / others.clamp(min=1)
    return torch.where(others > 0, returns - baseline, 0.0)


def rank(returns: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Int64[Tensor, " E"]:
    """The place of each answer in its group, from 0 for the highest return; of equal ones the first leads."""
    order = returns.argsort(descending=True, stable=True)
    order = order[group[order].argsort(stable=True)]
    grouped = group[order]
    place = torch.arange(len(order), device=order.device) - torch.searchsorted(grouped, grouped)
    return torch.empty_like(order).scatter(0, order, place)


def returns_differ(returns: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Bool[Tensor, " E"]:
    """Whether the answers to the episode's row have different returns."""
    bounds = []
    for reduce in ("amax", "amin"):
        extreme = returns.new_zeros(int(group.max()) + 1 if len(group) else 0)
        bounds.append(extreme.scatter_reduce(0, group, returns, reduce, include_self=False)[group])
    return bounds[0] > bounds[1]
