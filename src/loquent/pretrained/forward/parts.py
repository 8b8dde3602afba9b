"""What our forward passes share: the parts they know, linear layers with adapters, and attention."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from loquent.pretrained.forward.dropout import attend
from loquent.pretrained.lora.low_rank import LowRank
from loquent.pretrained.pytorch.torch_private import is_changed

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, scaled query [n, heads, width], key and value [n, key heads, width]) -> mixed values
[n, heads * width]."""
Stores = Sequence[tuple[Float[Tensor, "B heads T width"], Float[Tensor, "B heads T width"]]]
"""For each layer the tensors that receive its keys and values."""

ADAPTER = "default"  # the name of an adapter in peft's layers
IN_ADAPTERS = {"lora_A", "lora_B", "lora_dropout", "lora_embedding_A", "lora_embedding_B",
               "lora_magnitude_vector"}  # fmt: skip

CONV1D = ("transformers.pytorch_utils", "Conv1D")


def name(part: Any) -> tuple[str, str]:
    """The module and the name of a part's class."""
    return type(part).__module__, type(part).__qualname__


def consists_of(module: Any, parts: Collection[tuple[str, str]], kinds: Collection[type], act: str) -> bool:
    """Whether a network is made of known parts alone, without hooks and replaced `forward`s.

    Args:
        parts: the classes of the library, by `name`.
        kinds: the classes of torch.
        act: the name of activations, which are called as they are.
    """
    return all(
        (name(part) in parts or type(part) in kinds or act in path.split(".") or is_of_adapter(part, path))
        and not is_changed(part)
        for path, part in module.named_modules()
    )


def is_of_adapter(part: Any, path: str) -> bool:
    """Whether a part is a layer with a plain low-rank adapter, peft's or ours, or inside such a layer.

    Adapters inside adapters have no pass.
    """
    inside = set(path.split("."))
    if type(part) is LowRank:
        plain = type(part.layer) is nn.Linear or name(part.layer) == CONV1D
        return plain and not inside & {"base_layer", *IN_ADAPTERS}
    return name(part) == ("peft.tuners.lora.layer", "Linear") or bool(IN_ADAPTERS & inside)


def product(layer: Any, inputs: Tensor) -> Tensor:
    """The output of a linear layer of torch, of the library's Conv1D, or of an adapter on one of them.

    Conv1D's weight is [inputs, outputs]. Of an adapter the two products are added in one operation, with
    fewer tensors at a time than peft's own.
    """
    base, down, up, scale = _adapted(layer)
    if base is not layer and up.weight.dtype != base.weight.dtype:
        outputs: Tensor = layer(inputs)  # it casts between the types
        return outputs
    if base is layer and isinstance(base, nn.Linear):
        return F.linear(inputs, base.weight, base.bias)
    rows = inputs.reshape(-1, inputs.shape[-1])
    if isinstance(base, nn.Linear):
        outputs = F.linear(rows, base.weight, base.bias)
    else:
        outputs = torch.addmm(base.bias, rows, base.weight)
    if base is not layer:
        outputs = torch.addmm(outputs, down(rows), up.weight.T, alpha=scale)
    return outputs.view(*inputs.shape[:-1], -1)


def _adapted(layer: Any) -> tuple[Any, Any, Any, float]:
    """The layer without its adapter, and the adapter: its layer down, its layer up, and their factor.

    A layer without an adapter comes back itself.
    """
    if type(layer) is LowRank:
        return layer.layer, layer.down, layer.up, 1.0
    if isinstance(layer, nn.Linear) or not hasattr(layer, "base_layer"):
        return layer, None, None, 0.0
    return layer.base_layer, layer.lora_A[ADAPTER], layer.lora_B[ADAPTER], layer.scaling[ADAPTER]


def take_positions(states: Float[Tensor, "B T H"], at: Int64[Tensor, "B A"] | None) -> Tensor:
    """The states at some positions of each row; all of them for None."""
    return states if at is None else states.gather(1, at[:, :, None].expand(-1, -1, states.shape[2]))


def causal_attention(
    query: Float[Tensor, "B heads A width"],
    keys: Float[Tensor, "B few T width"],
    values: Float[Tensor, "B few T width"],
    scale: float,
    rate: float,
    at: Int64[Tensor, "B A"] | None,
) -> Float[Tensor, "B A heads*width"]:
    """Causal attention of right-padded rows; heads that share keys are adjacent.

    Args:
        rate: of dropout on the weights.
        at: the positions of the queries; None: all of them in order.
    """
    visible = None
    if at is not None:
        visible = (torch.arange(keys.shape[2], device=at.device) <= at[:, :, None])[:, None]
    if rate:
        found = attend(query, keys, values, scale, rate, visible)
    else:
        shared = query.shape[1] != keys.shape[1]
        found = F.scaled_dot_product_attention(
            query, keys, values, attn_mask=visible, is_causal=visible is None, scale=scale, enable_gqa=shared
        )
    return found.transpose(1, 2).flatten(2)
