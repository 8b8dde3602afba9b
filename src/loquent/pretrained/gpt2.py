"""A faster forward pass for GPT-2 networks, on the weights of the transformers module.

It computes the same function (Radford et al. 2019) in fewer passes over memory. The tanh-GELU is fused or
computed by a sigmoid. The last layer is computed only at the requested positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from loquent.pretrained.dropout import add_dropped, attend, drop, is_keyed
from loquent.pretrained.torch_private import is_changed

HOME = "transformers.models.gpt2.modeling_gpt2"
OWN = ("GPT2LMHeadModel", "GPT2Model", "GPT2Block", "GPT2Attention", "GPT2MLP")
ADAPTER = "default"  # the name of an adapter in peft's layers
CONV1D = ("transformers.pytorch_utils", "Conv1D")
PARTS = {*((HOME, name) for name in OWN), CONV1D}
SLOPE, CUBE = 2 * math.sqrt(2 / math.pi), 2 * math.sqrt(2 / math.pi) * 0.044715  # 2 z = x (SLOPE + CUBE x^2)
DROPOUTS = {"drop", "attn", "attn_dropout", "resid_dropout", "dropout"}  # an attention reads its own rate
LAYERS = {nn.Embedding, nn.LayerNorm, nn.Linear, nn.Dropout, nn.ModuleList}


def serves(module: Any) -> bool:
    """Whether this forward pass computes the same function as the module.

    All parts must be the library's classes, or peft's plain LoRA around them. Quantised layers,
    cross-attention, upcast attention, hooks and replaced `forward`s make it False; so does active dropout,
    unless it is the library's own and its stream is set (`dropout.dropping`).
    """
    if _name(module) not in {(HOME, "GPT2LMHeadModel"), (HOME, "GPT2Model")}:
        return False
    if module.config.add_cross_attention or module.config.reorder_and_upcast_attn:
        return False
    return all(
        (
            _name(part) in PARTS
            or type(part) in LAYERS
            or "act" in path.split(".")
            or _of_adapter(part, path)
        )  # an activation is called as it is
        and not is_changed(part)
        and not (_drops(part) and not (is_keyed() and path.split(".")[-1] in DROPOUTS))
        for path, part in module.named_modules()
    )


def last_hidden(
    trunk: Any,
    tokens: Int64[Tensor, "B T"],
    at: Int64[Tensor, "B A"] | None = None,
    stores: Sequence[tuple[Float[Tensor, "B heads T width"], Float[Tensor, "B heads T width"]]] | None = None,
) -> Tensor:
    """The last hidden states [B, T, H] of right-padded rows, or [B, A, H] at the positions `at`.

    Differentiable.

    Args:
        stores: for each layer the tensors that receive its keys and values.
    """
    hidden = trunk.wte(tokens) + trunk.wpe.weight[: tokens.shape[1]]
    hidden = drop(hidden, _rate(trunk.drop))
    for number, block in enumerate(trunk.h):
        last = number == len(trunk.h) - 1
        hidden = _block(block, hidden, at if last else None, None if stores is None else stores[number])
    states: Tensor = trunk.ln_f(hidden)
    return states


def hidden_where(
    trunk: Any, tokens: Int64[Tensor, "B T"], wanted: Bool[Tensor, "B T"]
) -> Float[Tensor, "B T H"]:
    """The last hidden states at the positions `wanted`.

    They may be 0 elsewhere, which saves most of the last layer.
    """
    most = int(wanted.sum(1).max())
    if not 0 < 4 * most < 3 * tokens.shape[1]:
        return last_hidden(trunk, tokens)
    at = wanted.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :most]
    states = last_hidden(trunk, tokens, at)
    return states.new_zeros(*tokens.shape, states.shape[2]).scatter(
        1, at[:, :, None].expand_as(states), states
    )


def gelu(x: Tensor) -> Tensor:
    """The tanh form of the GELU (arXiv:1606.08415 sec. 2), computed as x * sigmoid(2 z).

    The two are equal, and on a CPU a sigmoid takes a fifth of the time of a tanh.
    """
    if torch.is_grad_enabled() or x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        return F.gelu(x, approximate="tanh")  # one pass, which stores one tensor for the backward pass
    return torch.addcmul(x.new_tensor(SLOPE), x, x, value=CUBE).mul_(x).sigmoid_().mul_(x)


def _block(block: Any, hidden: Tensor, at: Tensor | None, store: tuple[Tensor, Tensor] | None) -> Tensor:
    """One layer over whole rows; with `at` only for the queries at those positions, [B, A]."""
    rows, wide, size = hidden.shape
    attention = block.attn
    parts = product(attention.c_attn, block.ln_1(hidden)).view(
        rows, wide, 3, attention.num_heads, attention.head_dim
    )
    query, keys, values = parts.permute(2, 0, 3, 1, 4)
    if store is not None:
        store[0].copy_(keys), store[1].copy_(values)
    rate = attention.attn_dropout.p if attention.training else 0.0  # as the library reads it
    if at is None and rate:
        mixed = attend(query, keys, values, attention.scaling, rate, None)
    elif at is None:
        mixed = F.scaled_dot_product_attention(query, keys, values, is_causal=True, scale=attention.scaling)
    else:
        hidden = hidden.gather(1, at[:, :, None].expand(-1, -1, size))
        query = query.gather(2, at[:, None, :, None].expand(-1, query.shape[1], -1, query.shape[3]))
        visible = (torch.arange(wide, device=at.device) <= at[:, :, None])[:, None]
        if rate:
            mixed = attend(query, keys, values, attention.scaling, rate, visible)
        else:
            mixed = F.scaled_dot_product_attention(
                query, keys, values, attn_mask=visible, scale=attention.scaling
            )
    mixed = product(attention.c_proj, mixed.transpose(1, 2).flatten(2))
    hidden = add_dropped(hidden, mixed, _rate(attention.resid_dropout))
    return add_dropped(hidden, feed_forward(block, hidden), _rate(block.mlp.dropout))


def feed_forward(block: Any, hidden: Tensor) -> Tensor:
    """The feed-forward part of a block, which is added after its attention."""
    inner = product(block.mlp.c_fc, block.ln_2(hidden))
    is_tanh = _name(block.mlp.act)[1] in ("NewGELUActivation", "GELUTanh")
    inner = gelu(inner) if is_tanh else block.mlp.act(inner)
    return product(block.mlp.c_proj, inner)


def product(layer: Any, inputs: Tensor) -> Tensor:
    """The output of the library's Conv1D layer, whose weight is [inputs, outputs], or of an adapter on it.

    Of an adapter the two products are added in one operation, with fewer tensors at a time than peft's own.
    """
    base = layer if _name(layer) == CONV1D else layer.base_layer
    rows = inputs.reshape(-1, inputs.shape[-1])
    if base is not layer and layer.lora_B[ADAPTER].weight.dtype != base.weight.dtype:
        outputs: Tensor = layer(inputs)  # peft casts between the types
        return outputs
    outputs = torch.addmm(base.bias, rows, base.weight)
    if base is not layer:
        down, up = layer.lora_A[ADAPTER](rows), layer.lora_B[ADAPTER].weight
        outputs = torch.addmm(outputs, down, up.T, alpha=layer.scaling[ADAPTER])
    return outputs.view(*inputs.shape[:-1], -1)


def _rate(dropout: nn.Dropout) -> float:
    """The rate of a dropout layer in its present mode."""
    return dropout.p if dropout.training else 0.0


def _drops(part: Any) -> bool:
    """Whether a layer drops units at random.

    An attention layer reads the rate of its own dropout layer and does not call it.
    """
    dropout = part if isinstance(part, nn.Dropout) else getattr(part, "attn_dropout", None)
    rate = getattr(dropout, "p", 0.0)
    return bool(part.training and rate > 0)


def _of_adapter(part: Any, path: str) -> bool:
    """Whether a part is peft's layer around a Conv1D, or inside such a layer."""
    inside = {"lora_A", "lora_B", "lora_dropout", "lora_embedding_A", "lora_embedding_B",
              "lora_magnitude_vector"}  # fmt: skip
    return _name(part) == ("peft.tuners.lora.layer", "Linear") or bool(inside & set(path.split(".")))


def _name(part: Any) -> tuple[str, str]:
    return type(part).__module__, type(part).__qualname__
