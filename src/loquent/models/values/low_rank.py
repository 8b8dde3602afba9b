"""Low-rank adapters (LoRA, arXiv:2106.09685): a second network on the same frozen weights, with a small
correction of its own.
"""

from __future__ import annotations

import copy
import math
from typing import Any

from torch import Tensor, nn

from loquent.errors import BadModel
from loquent.pretrained import exact


class LowRank(nn.Module):
    """A linear layer plus `up(down(x))`, of which only the latter learns.

    It begins as the layer alone, since `up` begins at 0 (sec. 4.1).
    """

    def __init__(self, layer: nn.Module, rank: int) -> None:
        super().__init__()
        self.layer = layer
        inputs, outputs = _sizes(layer)
        like: Any = layer.weight
        how: Any = {"bias": False, "device": like.device, "dtype": exact(like.dtype)}
        self.down, self.up = nn.Linear(inputs, rank, **how), nn.Linear(rank, outputs, **how)
        nn.init.kaiming_uniform_(self.down.weight, a=math.sqrt(5))
        nn.init.zeros_(self.up.weight)

    def forward(self, inputs: Tensor) -> Tensor:
        """The layer's output, corrected."""
        own: Tensor = self.layer(inputs)
        return own + self.up(self.down(inputs.to(self.down.weight.dtype))).to(own.dtype)


def adapted(module: nn.Module, rank: int) -> nn.Module:
    """A network on the very parameters of `module`, which are frozen, with an adapter on each of its linear
    layers.

    Raises:
        BadModel: it has no linear layer to adapt.
    """
    module.requires_grad_(False)
    made = copy.deepcopy(module, {id(parameter): parameter for parameter in module.parameters()})
    places = [name for name, part in made.named_modules() if _sizes(part) != (0, 0)]
    if not places:
        raise BadModel(
            f"{type(module).__name__} has no linear layer for an adapter; backbones = 'separate' is right"
        )
    for place in places:
        parent, _, name = place.rpartition(".")
        setattr(made.get_submodule(parent), name, LowRank(made.get_submodule(place), rank))
    return made


def _sizes(layer: Any) -> tuple[int, int]:
    """Inputs and outputs of a linear layer, the library's Conv1D too, whose weight is [inputs, outputs].

    (0, 0) of anything else.
    """
    if isinstance(layer, nn.Linear):
        return layer.in_features, layer.out_features
    if type(layer).__name__ == "Conv1D" and type(layer).__module__ == "transformers.pytorch_utils":
        inputs, outputs = layer.weight.shape
        return inputs, outputs
    return 0, 0
