"""Activations that the backward pass computes again (gradient checkpointing, arXiv:1604.06174).

Transformers offers this in training mode only, where dropout is on. Here it needs no mode: a layer saves its
inputs alone wherever gradients are recorded.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from loquent.errors import BadModel


def recompute(module: nn.Module) -> None:
    """Save only the inputs of each layer of a network for the backward pass, in place.

    Raises:
        BadModel: transformers does not mark the layers of this architecture.
    """
    from transformers.modeling_layers import GradientCheckpointingLayer

    layers: list[Any] = [part for part in module.modules() if isinstance(part, GradientCheckpointingLayer)]
    if not layers:
        raise BadModel(
            f"model.recompute: {type(module).__name__} has no layers that transformers can compute again; "
            "set model.recompute to false"
        )
    for layer in layers:
        kind: Any = type(layer)
        layer.__class__ = _recomputing(kind)


@cache
def _recomputing(kind: Any) -> Any:
    """The class of a layer with another call; other names tell it from the library's own."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return kind.__call__(self, *args, **kwargs)
        return checkpoint(partial(kind.__call__, self, **kwargs), *args, use_reentrant=False)

    name = f"Recomputed{kind.__name__}"
    return type(name, (kind,), {"__call__": call, "__module__": __name__, "__qualname__": name})
