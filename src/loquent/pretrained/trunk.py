"""The parts of a causal language model: its trunk, and the width of its hidden states."""

from __future__ import annotations

from typing import Any

from torch import nn

from loquent.pretrained.output import head


def trunk(module: Any) -> nn.Module:
    """The part of a causal model without its output layer; the model itself if it names no such part."""
    base: nn.Module = module.base_model
    return base


def width(module: Any) -> int:
    """The size of the last hidden states that the output layer reads."""
    recognised = head(module)
    if recognised is not None:
        return recognised.width
    layer = module.get_output_embeddings()
    return int(layer.weight.shape[1] if layer is not None else module.config.get_text_config().hidden_size)
