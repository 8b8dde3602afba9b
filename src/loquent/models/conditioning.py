"""A number that a whole row is conditioned on, for any causal model: a linear map of it is added to the
embedding of the row's first token.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from loquent import pretrained
from loquent.pretrained import exact
from loquent.pretrained.trunk import trunk


class Conditioning(nn.Module):
    """A number -> a shift of the first token's embedding, Linear(1 -> width)."""

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
def conditioned(module: Any, shift: Float[Tensor, "B H"]) -> Iterator[None]:
    """Every pass of the model inside has the shift added to the embeddings at position 0: a row for each of
    the batch's, or one for all.

    The model keeps its caches and its shapes: what comes after reads position 0 by attention, as it would
    read a prefix.
    """
    recognised = pretrained.head(module)
    inner: Any = trunk(module) if recognised is None else recognised.trunk

    def shifted(
        _: Any, given: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        named = dict(named)
        ids = given[0] if given else named["input_ids"]
        embedded = inner.get_input_embeddings()(ids) if ids is not None else named["inputs_embeds"]
        first = _first(embedded, named)
        named["inputs_embeds"] = embedded + torch.where(first[..., None], shift[:, None].to(embedded), 0.0)
        if given:
            return (None, *given[1:]), named
        return given, {**named, "input_ids": None}

    handle = inner.register_forward_pre_hook(shifted, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _first(embedded: Tensor, named: dict[str, Any]) -> Tensor:
    """Where position 0 is, bool[B or 1, T]: by the positions that were given, else the first column of a row
    that nothing stands before.
    """
    positions, past = named.get("position_ids"), named.get("past_key_values")
    if positions is not None:
        return positions == 0
    place = torch.arange(embedded.shape[1], device=embedded.device)[None]
    return place == (0 if past is None or past.get_seq_length() == 0 else -1)
