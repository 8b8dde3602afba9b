"""Losses per action token, as pure functions.

Callers sum them and divide by the tokens of the whole minibatch.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from loquent.errors import LoquentError


def clipped_surrogate(
    new: Float[Tensor, " N"],
    old: Float[Tensor, " N"],
    advantage: Float[Tensor, " N"],
    clip: float,
    high: float | None = None,
    cap: float | None = None,
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"], Bool[Tensor, " N"]]:
    """The negated L^CLIP per token (arXiv:1707.06347v2 eq. 7), the ratio, and whether it is clipped.

    A ratio outside [1 - clip, 1 + high] is clipped; `high` is `clip` by default. With a `cap`, the other
    ratio is at most this.
    """
    high = clip if high is None else high
    ratio = (new - old).exp()  # r_t(θ), eq. (6)
    bounded = ratio.clamp(1 - clip, 1 + high)
    outside = (ratio - 1 < -clip) | (ratio - 1 > high)
    free = ratio if cap is None else ratio.clamp(max=cap)
    return -torch.minimum(free * advantage, bounded * advantage), ratio, outside


def squared_error(
    value: Float[Tensor, " N"],
    target: Float[Tensor, " N"],
    old: Float[Tensor, " N"] | None = None,
    clip: float | None = None,
) -> Float[Tensor, " N"]:
    """The squared error (V(s_t) - target)² per token (arXiv:1707.06347v2 eq. 9).

    With `clip`, the maximum of this error and that of a value clipped to `old` ± `clip` (arXiv:2005.12729
    sec. 3).
    """
    error = (value - target).square()
    if clip is None or old is None:
        return error
    return torch.maximum(error, (old + (value - old).clamp(-clip, clip) - target).square())


def normalise(advantage: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Advantages minus their mean, divided by their unbiased standard deviation + 1e-8.

    A single advantage has no deviation and is returned as it is.

    Raises:
        LoquentError: there are no advantages.
    """
    if not len(advantage):
        raise LoquentError(
            "there is no action token, so advantages cannot be normalised; give a batch with at least one"
        )
    return advantage if len(advantage) == 1 else (advantage - advantage.mean()) / (advantage.std() + 1e-8)


def explained_variance(value: Float[Tensor, " N"], target: Float[Tensor, " N"]) -> float | None:
    """The share 1 - Var(target - value) / Var(target): 1 is perfect, 0 equals the mean.

    None if targets do not vary.
    """
    if len(target) < 2 or float(target.var()) == 0.0:
        return None
    return 1 - float((target - value).var()) / float(target.var())
