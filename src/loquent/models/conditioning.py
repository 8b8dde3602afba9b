"""Conditioning of a causal model on one number per row.

A linear map of the number is added to the embedding of the row's first token.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from loquent import pretrained
from loquent.pretrained import encoder_decoders, exact
from loquent.pretrained.output import trunk


class Conditioning(nn.Module):
    """Maps a number to a shift of the first token's embedding: Linear(1 -> width)."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        weight = module.get_input_embeddings().weight
        self.layer = nn.Linear(1, weight.shape[1])
        self.to(device=weight.device, dtype=exact(weight.dtype))

    def forward(self, numbers: Float[Tensor, " B"]) -> Float[Tensor, "B H"]:
        """The shift for each row."""
        shift: Tensor = self.layer(numbers.to(self.layer.weight)[:, None])
        return shift


@contextmanager
def shift_embeddings(module: Any, shift: Float[Tensor, "B H"]) -> Iterator[None]:
    """Inside this context, every forward pass adds the shift to the embeddings at position 0.

    `shift` has one row for each row of the batch, or one row for all. Caches and shapes stay as they are:
    later positions read position 0 by attention, like a prefix. Of an encoder-decoder it is the position 0
    of the decoder, in each pair of sides of a row.
    """
    head = pretrained.head(module)
    inner: Any = trunk(module) if head is None else head.trunk
    paired = encoder_decoders.is_pair(module)
    inner = module.get_decoder() if paired else inner

    def add_shift(
        _: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        kwargs = dict(kwargs)
        ids = args[0] if args else kwargs["input_ids"]
        embedded = inner.get_input_embeddings()(ids) if ids is not None else kwargs["inputs_embeds"]
        is_first = _is_first(embedded, kwargs)
        of_rows = shift
        if paired and len(shift) > 1:
            of_rows = shift[encoder_decoders.rows_read()]
        kwargs["inputs_embeds"] = embedded + torch.where(
            is_first[..., None], of_rows[:, None].to(embedded), 0.0
        )
        if args:
            return (None, *args[1:]), kwargs
        return args, {**kwargs, "input_ids": None}

    handle = inner.register_forward_pre_hook(add_shift, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _is_first(embedded: Tensor, kwargs: dict[str, Any]) -> Tensor:
    """Which columns are at position 0, bool[B or 1, T].

    Explicit positions decide; without them it is the first column, unless a cache holds earlier tokens.
    """
    positions, past = kwargs.get("position_ids"), kwargs.get("past_key_values")
    if positions is not None:
        return positions == 0
    column = torch.arange(embedded.shape[1], device=embedded.device)[None]
    return column == (0 if past is None or past.get_seq_length() == 0 else -1)
