"""The gradient step of our subclasses of Stable-Baselines3's learners.

The optimizer is the library's, whose state is saved with theirs, so `GradientStep` cannot own it. Clipping,
and the refusal of a gradient that is not finite, are those of all learners.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from loquent.pretrained.learning.optimization import clip_gradients


def take_step(policy: Any, loss: Tensor, max_grad_norm: float) -> None:
    """Change the parameters of a policy by one step of its optimizer.

    Raises:
        LoquentError: the norm of the gradient is not finite; the parameters are unchanged.
    """
    policy.optimizer.zero_grad()
    loss.backward()
    clip_gradients(dict(policy.named_parameters()), max_grad_norm)
    policy.optimizer.step()
