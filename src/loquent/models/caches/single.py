"""A pass over one token per row: keys and values are slots, whose memory order suits the products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from loquent.pretrained.forward import Pass

Step = Callable[[Pass, Any, Tensor, Tensor, Sequence[Tensor], Sequence[Tensor], Tensor], Tensor]
"""The signature of `token_step`."""


def token_step(
    own: Pass,
    trunk: Any,
    ids: Tensor,
    places: Tensor,
    keys: Sequence[Tensor],
    values: Sequence[Tensor],
    mask: Tensor,
) -> Tensor:
    """The last hidden states [n, H] of one token for each row, whose keys and values are written in place.

    Args:
        ids: int64[n]; the tokens.
        places: int64[n]; their columns, and their places in the rows.
        keys: for each layer [n, heads, columns, width], and `values` likewise.
        mask: [n, 1, 1, columns], -inf at hidden columns, else 0.
    """
    n, rows = len(ids), torch.arange(len(ids), device=ids.device)

    def attend(layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        slots, heads = keys[layer], key.shape[1]
        slots[rows, :, places], values[layer][rows, :, places] = key.to(slots.dtype), value
        query = query.view(n, heads, -1, query.shape[2])  # heads that share keys are computed together
        return grouped_attention(query, slots, values[layer], mask).reshape(n, -1)

    return own.step(trunk, ids, places, attend)


def grouped_attention(
    query: Float[Tensor, "n few shared width"],
    keys: Float[Tensor, "n few T width"],
    values: Float[Tensor, "n few T width"],
    mask: Float[Tensor, "n 1 1 T"],
) -> Float[Tensor, "n few shared width"]:
    """softmax(q kᵀ + mask) v for the scaled query of each row; `shared` heads read the same keys."""
    weights = (_product(query, keys) + mask).softmax(-1)
    return _product(weights, values.transpose(2, 3))


def _product(
    left: Float[Tensor, "n few shared inner"], right: Float[Tensor, "n few outer inner"]
) -> Float[Tensor, "n few shared outer"]:
    """left rightᵀ; a single row as a matrix times a vector, which reads memory about twice as fast."""
    if left.shape[2] == 1:
        return torch.matmul(right, left.transpose(2, 3)).transpose(2, 3)
    return torch.matmul(left, right.transpose(2, 3))


def empty(
    rows: int, heads: int, width: int, *, shared: bool, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Keys and values [rows, heads, 0, width] without columns, to be widened by `wider`.

    Memory is in the order in which products read it: a single query reads keys column by column, and values
    by their width. Where heads share keys, it is the other way round.
    """
    columns_last = torch.zeros(rows, heads, width, 0, dtype=dtype, device=device).transpose(2, 3)
    width_last = torch.zeros(rows, heads, 0, width, dtype=dtype, device=device)
    return (columns_last, width_last) if shared else (width_last, columns_last)


def wider(slots: Float[Tensor, "n few T width"], more: int) -> Float[Tensor, "n few T+more width"]:
    """Keys or values with `more` columns of zeros after the others, in the same memory order."""
    if slots.stride(2) == 1:
        return F.pad(slots.transpose(2, 3), (0, more)).transpose(2, 3)
    return F.pad(slots, (0, 0, 0, more))
