"""Advantages by comparison: the answers to one row against each other, without a value function."""

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

EPSILON = 1e-4  # added to deviations; 2402.03300 names none, and this is TRL's


def by_group(values: Float[Tensor, " E"], group: Int64[Tensor, " E"]) -> Float[Tensor, " E"]:
    """The sum of each episode's group, in the episodes' order."""
    sums = values.new_zeros(int(group.max()) + 1 if len(group) else 0)
    return sums.index_add(0, group, values)[group]


def relative(
    returns: Float[Tensor, " E"],
    group: Int64[Tensor, " E"],
    deviation: str,
    baseline: str = "group",
) -> Float[Tensor, " E"]:
    """The advantage of each answer: its return less a baseline, divided by a deviation + ε.

    Args:
        returns: of each episode.
        group: the row of each episode, numbered from 0.
        deviation: "group": of the returns of the group (GRPO, arXiv:2402.03300 sec. 4.1.2); "batch": of the
            returns of all episodes; other: no division (Dr. GRPO, arXiv:2503.20783). Deviations are unbiased.
        baseline: see `less_baseline`.
    """
    advantage = less_baseline(returns, group, baseline)
    if deviation not in ("group", "batch") or len(returns) < 2:
        return advantage
    if deviation == "batch":
        return advantage / (returns.std() + EPSILON)
    count = by_group(torch.ones_like(returns), group)
    variance = by_group(less_baseline(returns, group, "group").square(), group) / (count - 1).clamp(min=1)
    return advantage / (variance.sqrt() + EPSILON)


def less_baseline(
    returns: Float[Tensor, " E"], group: Int64[Tensor, " E"], baseline: str
) -> Float[Tensor, " E"]:
    """The return less the baseline.

    Args:
        baseline: "group": the mean of the answers to the row (arXiv:2402.03300); "leave_one_out": that of the
            other answers to the row; "global": that of all episodes.
    """
    if baseline == "leave_one_out":
        return leave_one_out(returns, group)
    if baseline == "global":
        return returns - returns.mean()
    return returns - by_group(returns, group) / by_group(torch.ones_like(returns), group)


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


def to_go(values: Float[Tensor, " N"], episode: Int64[Tensor, " N"]) -> Float[Tensor, " N"]:
    """The sum of an episode's values from each token to its last one.

    Args:
        values: of each token, in the order of the tokens of an episode.
        episode: of each token, numbered from 0.
    """
    order = episode.argsort(stable=True)
    ordered = values[order].double()
    ends = by_group(ordered, episode[order])
    starts = torch.cat([ordered.new_zeros(1), ordered.cumsum(0)])[:-1]
    first = starts[torch.searchsorted(episode[order], episode[order])]
    return torch.empty_like(values).index_copy(0, order, (ends - (starts - first)).to(values.dtype))


def engine_weight(
    log_weight: Float[Tensor, " N"], mode: str, low: float | None, high: float | None
) -> Float[Tensor, " N"]:
    """The weight of a token that another engine drew: exp(log_weight), bounded.

    Args:
        log_weight: the learner's log-probability less the engine's, of a token or summed over its answer.
        mode: a name that ends in "truncate": a weight outside the bounds is the nearer bound; in "mask": 0.
        low: the lower bound; None: none.
        high: the upper bound; None: none.
    """
    weight = log_weight.exp()
    bounded = weight if low is None and high is None else weight.clamp(low, high)
    return bounded if mode.endswith("truncate") else torch.where(bounded == weight, weight, 0.0)
