"""A faster forward pass for Llama-shaped networks, on the weights of the transformers module.

It computes the function of Llama (arXiv:2302.13971), Mistral, Qwen 2 (arXiv:2407.10671) and Qwen 3
(arXiv:2505.09388): root mean square norms (arXiv:1910.07467), rotary positions (arXiv:2104.09864), heads that
share keys (arXiv:2305.13245) and gated feed-forward layers (arXiv:2002.05202). Norms and rotations take fewer
passes over memory. The last layer is computed only at the requested positions.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from loquent.pretrained.forward.dropout import may_drop
from loquent.pretrained.forward.parts import (
    Attend,
    Stores,
    causal_attention,
    consists_of,
    name,
    product,
    take_positions,
)

FAMILIES = ("Llama", "Mistral", "Qwen2", "Qwen3")
OWN = ("ForCausalLM", "Model", "DecoderLayer", "Attention", "MLP", "RMSNorm", "RotaryEmbedding")


def home(family: str) -> str:
    """The module of the library that defines a family."""
    return f"transformers.models.{family.lower()}.modeling_{family.lower()}"


PARTS = {family: {(home(family), family + own) for own in OWN} for family in FAMILIES}
LAYERS = {nn.Embedding, nn.Linear, nn.ModuleList}
ROTATIONS = {"default", "linear", "llama3", "yarn"}  # their angles do not depend on the length of a row


def serves(module: Any) -> bool:
    """Whether this forward pass computes the same function as the module.

    All parts must be the library's classes of one family, or peft's plain LoRA around them. Sliding windows,
    rotations that depend on the length, quantised layers, hooks and replaced `forward`s make it False; so
    does active dropout, unless its stream is set (`dropout.dropping`).
    """
    kind = type(module).__qualname__
    family = next((family for family in FAMILIES if kind in (f"{family}ForCausalLM", f"{family}Model")), None)
    if (
        family is None
        or name(module) not in PARTS[family]
        or not consists_of(module, PARTS[family], LAYERS, "act_fn")
    ):
        return False
    trunk = module.base_model
    if (
        trunk.rotary_emb.rope_type not in ROTATIONS
        or getattr(trunk.config, "sliding_window", None) is not None
    ):
        return False
    return all(
        may_drop(
            part,
            getattr(part, "attention_dropout", 0.0) or getattr(part, "p", 0.0),
            own=path.endswith("self_attn"),
        )
        for path, part in module.named_modules()
    )


def heads(trunk: Any) -> list[tuple[int, int]]:
    """For each layer the number of heads that have keys and values, and their width."""
    config = trunk.config
    return [(config.num_key_value_heads, layer.self_attn.head_dim) for layer in trunk.layers]


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
    hidden = trunk.embed_tokens(tokens)
    angles = _angles(trunk, torch.arange(tokens.shape[1], device=tokens.device), hidden)
    for number, layer in enumerate(trunk.layers):
        last = number == len(trunk.layers) - 1
        hidden = _layer(
            layer, hidden, angles, at if last else None, None if stores is None else stores[number]
        )
    return _norm(trunk.norm, hidden)


def step(
    trunk: Any, ids: Int64[Tensor, " n"], places: Int64[Tensor, " n"], attend: Attend
) -> Float[Tensor, "n H"]:
    """The last hidden states of one token for each row, at its place in the row, without dropout."""
    hidden = trunk.embed_tokens(ids)
    angles = _angles(trunk, places, hidden)
    for number, layer in enumerate(trunk.layers):
        attention, inputs = layer.self_attn, _norm(layer.input_layernorm, hidden)
        query = _turned(_query(attention, inputs), angles) * attention.scaling
        found = attend(number, query, _turned(_key(attention, inputs), angles), _value(attention, inputs))
        hidden = hidden + product(attention.o_proj, found)
        hidden = hidden + _feed_forward(layer, hidden)
    return _norm(trunk.norm, hidden)


Angles = tuple[Float[Tensor, "*T 1 width"], Float[Tensor, "*T 1 width"]]
"""For each place cosines, and sines whose first half is negated."""


def _angles(trunk: Any, places: Int64[Tensor, " T"], like: Tensor) -> Angles:
    """The rotations of some places in a row."""
    cosines, sines = trunk.rotary_emb(like, places[None])
    half = sines.shape[-1] // 2
    return cosines[0, :, None], torch.cat([-sines[0, :, None, :half], sines[0, :, None, half:]], -1)


def _turned(states: Float[Tensor, "*N T heads width"], angles: Angles) -> Tensor:
    """Queries or keys, rotated by their places."""
    cosines, sines = angles
    return states * cosines + states.roll(states.shape[-1] // 2, -1) * sines


def _layer(
    layer: Any, hidden: Tensor, angles: Angles, at: Tensor | None, store: tuple[Tensor, Tensor] | None
) -> Tensor:
    """One layer over whole rows; with `at` only for the queries at those positions, [B, A]."""
    attention, inputs = layer.self_attn, _norm(layer.input_layernorm, hidden)
    keys = _turned(_key(attention, inputs), angles).transpose(1, 2)
    values = _value(attention, inputs).transpose(1, 2)
    if store is not None:
        store[0].copy_(keys), store[1].copy_(values)
    if at is not None:
        hidden, inputs, angles = (
            take_positions(hidden, at),
            take_positions(inputs, at),
            (angles[0][at], angles[1][at]),
        )
    query = _turned(_query(attention, inputs), angles).transpose(1, 2)
    rate = attention.attention_dropout if attention.training else 0.0
    found = causal_attention(query, keys, values, attention.scaling, rate, at)
    hidden = hidden + product(attention.o_proj, found)
    return hidden + _feed_forward(layer, hidden)


def _query(attention: Any, inputs: Tensor) -> Float[Tensor, "*N heads width"]:
    query = product(attention.q_proj, inputs).unflatten(-1, (-1, attention.head_dim))
    return _norm(attention.q_norm, query) if hasattr(attention, "q_norm") else query


def _key(attention: Any, inputs: Tensor) -> Float[Tensor, "*N few width"]:
    key = product(attention.k_proj, inputs).unflatten(-1, (-1, attention.head_dim))
    return _norm(attention.k_norm, key) if hasattr(attention, "k_norm") else key


def _value(attention: Any, inputs: Tensor) -> Float[Tensor, "*N few width"]:
    return product(attention.v_proj, inputs).unflatten(-1, (-1, attention.head_dim))


def _feed_forward(layer: Any, hidden: Tensor) -> Tensor:
    """The feed-forward part of a layer, which is added after its attention."""
    part, inputs = layer.mlp, _norm(layer.post_attention_layernorm, hidden)
    return product(
        part.down_proj, part.act_fn(product(part.gate_proj, inputs)) * product(part.up_proj, inputs)
    )


def _norm(part: Any, states: Float[Tensor, "*N H"]) -> Tensor:
    """A root mean square norm, computed in float32 whatever the type of the states, as in the library."""
    if states.dtype != torch.float32 or part.weight.dtype != torch.float32:
        inputs = states.float()
        scale = torch.rsqrt(inputs.square().mean(-1, keepdim=True) + part.variance_epsilon)
        return part.weight * (inputs * scale).to(states.dtype)
    if torch.is_grad_enabled():
        return _Norm.apply(states, part.weight, part.variance_epsilon)
    return F.rms_norm(states, part.weight.shape, part.weight, part.variance_epsilon)


class _Norm(torch.autograd.Function):
    """A root mean square norm that saves its inputs alone, with a backward pass of few operations."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, small: float) -> Tensor:
        scale = torch.rsqrt(states.square().mean(-1, keepdim=True) + small)
        ctx.save_for_backward(states, weight, scale)
        ctx.small = small
        return (states * scale).mul_(weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        states, weight, scale = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is differentiated in turn, also by the scale
            scale = torch.rsqrt(states.square().mean(-1, keepdim=True) + ctx.small)
        normed = states * scale
        of_normed = gradient * normed
        with torch.autocast(states.device.type, enabled=False):
            along = (of_normed @ weight)[..., None] / weight.shape[0]
        of_states = torch.addcmul(gradient * weight, normed, along, value=-1) * scale
        return of_states, of_normed.flatten(0, -2).sum(0), None
