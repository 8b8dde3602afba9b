"""Low-rank adapters (LoRA, arXiv:2106.09685): a second network on frozen weights with a small correction."""

from __future__ import annotations

import copy
import math
from typing import Any

from torch import Tensor, nn

from loquent.errors import BadModel
from loquent.pretrained.pytorch.devices import exact


class LowRank(nn.Module):
    """A frozen linear layer plus `up(down(x))`, which learns.

    At first the output is that of the layer alone, because `up` is 0 (sec. 4.1).
    """

    def __init__(self, layer: nn.Module, rank: int) -> None:
        super().__init__()
        self.layer = layer
        inputs, outputs = _sizes(layer)
        like: Any = layer.weight
        options: Any = {"bias": False, "device": like.device, "dtype": exact(like.dtype)}
        self.down, self.up = nn.Linear(inputs, rank, **options), nn.Linear(rank, outputs, **options)
        nn.init.kaiming_uniform_(self.down.weight, a=math.sqrt(5))
        nn.init.zeros_(self.up.weight)

    def forward(self, inputs: Tensor) -> Tensor:
        """The layer's output plus the correction."""
        own: Tensor = self.layer(inputs)
        return own + self.up(self.down(inputs.to(self.down.weight.dtype))).to(own.dtype)


def add_adapters(module: nn.Module, rank: int) -> nn.Module:
    """A copy of a network that shares its parameters, with an adapter on each linear layer.

    The parameters of `module` are frozen.

    Raises:
        BadModel: the network has no linear layer.
    """
    module.requires_grad_(False)
    twin = copy.deepcopy(module, {id(parameter): parameter for parameter in module.parameters()})
    places = [name for name, part in twin.named_modules() if _sizes(part) != (0, 0)]
    if not places:
        raise BadModel(
            f"{type(module).__name__} has no linear layer, but backbones = 'lora' needs one; use backbones = "
            "'separate'"
        )
    for place in places:
        parent, _, name = place.rpartition(".")
        setattr(twin.get_submodule(parent), name, LowRank(twin.get_submodule(place), rank))
    return twin


def _sizes(layer: Any) -> tuple[int, int]:
    """The numbers of inputs and outputs of a linear layer or a Conv1D of transformers; else (0, 0).

    The weight of a Conv1D is [inputs, outputs].
    """
    if isinstance(layer, nn.Linear):
        return layer.in_features, layer.out_features
    if type(layer).__name__ == "Conv1D" and type(layer).__module__ == "transformers.pytorch_utils":
        inputs, outputs = layer.weight.shape
        return inputs, outputs
    return 0, 0
