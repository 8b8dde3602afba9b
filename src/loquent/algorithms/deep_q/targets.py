"""Targets, errors and schedules of deep Q-learning, as pure functions."""

from __future__ import annotations

from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import smooth_l1_loss


def double_q_target(
    returns: Float[Tensor, " N"],
    discount: Float[Tensor, " N"],
    alive: Bool[Tensor, " N"],
    online: Float[Tensor, "N B"],
    target: Float[Tensor, "N B"],
    *,
    double: bool = True,
) -> Float[Tensor, " N"]:
    """y = R + γ^n Q_target(s', a'), where a' is the online network's best action (arXiv:1509.06461 eq. 4).

    Args:
        returns, discount: R and γ^n. alive: whether s' has a value; an ended episode has none.
        online, target: both networks' values of s', -inf for illegal actions.
        double: whether the online network chooses a'; else the target network does (arXiv:1312.5602).
    """
    best = (online if double else target).argmax(1, keepdim=True)
    following = target.gather(1, best)[:, 0]
    return returns + discount * following.where(alive, 0.0)


def q_loss(
    values: Float[Tensor, "N B"], action: Int[Tensor, " N"], target: Float[Tensor, " N"]
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"]]:
    """The Huber loss of each transition, and its error y - Q(s, a)."""
    own = values.gather(1, action[:, None])[:, 0]
    return smooth_l1_loss(own, target, reduction="none"), (target - own).detach()


def exploration(episodes: int, first: float, last: float, over: int) -> float:
    """ε after a number of episodes: linear from `first` to `last` over the first `over` ones."""
    return first + (last - first) * min(1.0, episodes / over)
