"""Losses per action token, as pure functions; a caller sums them and divides by the tokens of its whole minibatch."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from loquent.errors import LoquentError


def clipped_surrogate(
    new: Float[Tensor, " N"], old: Float[Tensor, " N"], advantage: Float[Tensor, " N"], clip: float
) -> tuple[Float[Tensor, " N"], Float[Tensor, " N"], Bool[Tensor, " N"]]:
    """-L^CLIP of arXiv:1707.06347v2 eq. (7) per token, the ratio, and where the ratio lies outside [1 - clip, 1 + clip]."""
    ratio = (new - old).exp()  # r_t(θ), eq. (6)
    bounded = ratio.clamp(1 - clip, 1 + clip)
    return -torch.minimum(ratio * advantage, bounded * advantage), ratio, (ratio - 1).abs() > clip


def squared_error(
    value: Float[Tensor, " N"], target: Float[Tensor, " N"], old: Float[Tensor, " N"] | None = None, clip: float | None = None
) -> Float[Tensor, " N"]:
    """(V(s_t) - target)^2 per token, eq. (9) of arXiv:1707.06347v2.

    With `clip`, the larger of that and the error of a value kept within `clip` of `old` (arXiv:2005.12729 sec. 3, detail 1).
    """
    error = (value - target).square()
    if clip is None or old is None:
        return error
    return torch.maximum(error, (old + (value - old).clamp(-clip, clip) - target).square())


def normalised(advantage: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """Advantages less their mean, over their unbiased deviation + 1e-8; a single one, which has no deviation, is left alone."""
    if not len(advantage):
        raise LoquentError("there is no action token to normalise advantages over")
    return advantage if len(advantage) == 1 else (advantage - advantage.mean()) / (advantage.std() + 1e-8)


def explained_variance(value: Float[Tensor, " N"], target: Float[Tensor, " N"]) -> float | None:
    """1 - Var(target - value) / Var(target): 1 is perfect, 0 no better than the mean; None where targets do not vary."""
    if len(target) < 2 or float(target.var()) == 0.0:
        return None
    return 1 - float((target - value).var()) / float(target.var())
