"""A faster forward pass for GPT-2 networks, on the weights of the transformers module.

It computes the same function (Radford et al. 2019) in fewer passes over memory. The tanh-GELU is fused or
computed by a sigmoid. The last layer is computed only at the requested positions.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from loquent.pretrained.forward.dropout import add_dropped, drop, may_drop
from loquent.pretrained.forward.parts import (
    CONV1D,
    Attend,
    Stores,
    causal_attention,
    consists_of,
    name,
    product,
    take_positions,
)

HOME = "transformers.models.gpt2.modeling_gpt2"
OWN = ("GPT2LMHeadModel", "GPT2Model", "GPT2Block", "GPT2Attention", "GPT2MLP")
PARTS = {*((HOME, own) for own in OWN), CONV1D}
SLOPE, CUBE = 2 * math.sqrt(2 / math.pi), 2 * math.sqrt(2 / math.pi) * 0.044715  # 2 z = x (SLOPE + CUBE x^2)
DROPOUTS = {"drop", "attn", "attn_dropout", "resid_dropout", "dropout"}  # an attention reads its own rate
LAYERS = {nn.Embedding, nn.LayerNorm, nn.Linear, nn.Dropout, nn.ModuleList}


def serves(module: Any) -> bool:
    """Whether this forward pass computes the same function as the module.

    All parts must be the library's classes, or peft's plain LoRA around them. Quantised layers,
    cross-attention, upcast attention, hooks and replaced `forward`s make it False; so does active dropout,
    unless it is the library's own and its stream is set (`dropout.dropping`).
    """
    if name(module) not in {(HOME, "GPT2LMHeadModel"), (HOME, "GPT2Model")}:
        return False
    if module.config.add_cross_attention or module.config.reorder_and_upcast_attn:
        return False
    return consists_of(module, PARTS, LAYERS, "act") and all(
        may_drop(part, _rate_of(part), own=path.split(".")[-1] in DROPOUTS)
        for path, part in module.named_modules()
    )


def heads(trunk: Any) -> list[tuple[int, int]]:
    """For each layer the number of heads, and their width."""
    return [(block.attn.num_heads, block.attn.head_dim) for block in trunk.h]


def last_hidden(
    trunk: Any,
    tokens: Int64[Tensor, "B T"],
    at: Int64[Tensor, "B A"] | None = None,
    stores: Stores | None = None,
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


def step(
    trunk: Any, ids: Int64[Tensor, " n"], places: Int64[Tensor, " n"], attend: Attend
) -> Float[Tensor, "n H"]:
    """The last hidden states of one token for each row, at its place in the row, without dropout."""
    hidden = trunk.wte(ids) + trunk.wpe(places)
    for number, block in enumerate(trunk.h):
        query, key, value = _attended(block, hidden).unbind(1)
        found = attend(number, query * block.attn.scaling, key, value)
        hidden = hidden + product(block.attn.c_proj, found)
        hidden = hidden + _feed_forward(block, hidden)
    states: Tensor = trunk.ln_f(hidden)
    return states


def gelu(x: Tensor) -> Tensor:
    """The tanh form of the GELU (arXiv:1606.08415 sec. 2), computed as x * sigmoid(2 z).

    The two are equal, and on a CPU a sigmoid takes a fifth of the time of a tanh.
    """
    if torch.is_grad_enabled() or x.device.type != "cpu" or x.dtype not in (torch.float32, torch.float64):
        return F.gelu(x, approximate="tanh")  # one pass, which stores one tensor for the backward pass
    return torch.addcmul(x.new_tensor(SLOPE), x, x, value=CUBE).mul_(x).sigmoid_().mul_(x)


def _block(block: Any, hidden: Tensor, at: Tensor | None, store: tuple[Tensor, Tensor] | None) -> Tensor:
    """One layer over whole rows; with `at` only for the queries at those positions, [B, A]."""
    attention = block.attn
    query, keys, values = _attended(block, hidden).permute(2, 0, 3, 1, 4)
    if store is not None:
        store[0].copy_(keys), store[1].copy_(values)
    if at is not None:
        hidden = take_positions(hidden, at)
        query = query.gather(2, at[:, None, :, None].expand(-1, query.shape[1], -1, query.shape[3]))
    rate = attention.attn_dropout.p if attention.training else 0.0  # as the library reads it
    found = product(attention.c_proj, causal_attention(query, keys, values, attention.scaling, rate, at))
    hidden = add_dropped(hidden, found, _rate(attention.resid_dropout))
    return add_dropped(hidden, _feed_forward(block, hidden), _rate(block.mlp.dropout))


def _attended(block: Any, hidden: Tensor) -> Float[Tensor, "*N 3 heads width"]:
    """The query, the key and the value of each token."""
    attention = block.attn
    parts = product(attention.c_attn, block.ln_1(hidden))
    return parts.view(*hidden.shape[:-1], 3, attention.num_heads, attention.head_dim)


def _feed_forward(block: Any, hidden: Tensor) -> Tensor:
    """The feed-forward part of a block, which is added after its attention."""
    inner = product(block.mlp.c_fc, block.ln_2(hidden))
    is_tanh = name(block.mlp.act)[1] in ("NewGELUActivation", "GELUTanh")
    inner = gelu(inner) if is_tanh else block.mlp.act(inner)
    return product(block.mlp.c_proj, inner)


def _rate(dropout: nn.Dropout) -> float:
    """The rate of a dropout layer in its present mode."""
    return dropout.p if dropout.training else 0.0


def _rate_of(part: Any) -> float:
    """The rate by which a part drops units in training mode.

    An attention layer reads the rate of its own dropout layer and does not call it.
    """
    dropout = part if isinstance(part, nn.Dropout) else getattr(part, "attn_dropout", None)
    return float(getattr(dropout, "p", 0.0))
