"""Caches that are wrong in one way each.

A comparison is trusted only if it tells them from the right cache: a fresh model may ignore positions,
padding or its encoder, and then the result is no evidence.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from loquent.models.caches.cache import Cached, Slab
from loquent.models.caches.encoder_decoder import Cohort, Paired
from loquent.models.caches.last import Last


class Displaced(Cached):
    """Wrong positions: 0 for every token."""

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any) -> Last:
        return super()._forward(ids, mask, torch.zeros_like(positions), cache)


class Unmasked(Cached):
    """Visible padding."""

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any) -> Last:
        all_visible = torch.ones_like(mask) if mask.dim() == 2 else torch.zeros_like(mask)
        return super()._forward(ids, all_visible, positions, cache)


class _Shorter(Slab):
    def get_seq_length(self) -> int:
        return 0


class _Displaced(Cohort):
    slab = _Shorter


class _PaddedSource(Cohort):
    def __init__(self, module: Any, rows: Tensor, sources: list[list[int]], pad: int) -> None:
        super().__init__(module, rows, sources, pad)
        self.real = torch.ones_like(self.real)


class _Unwritten(Cohort):
    def mask(self, slab: Slab) -> Tensor:
        return torch.zeros_like(super().mask(slab))


class _OtherSource(Cohort):
    def keep(self, local: Tensor, rows: Tensor) -> None:
        layers: list[Any] = self.cache.cross_attention_cache.layers
        first = [(layer.keys[: len(local)], layer.values[: len(local)]) for layer in layers]
        super().keep(local, rows)
        for layer, (keys, values) in zip(layers, first, strict=True):
            layer.keys, layer.values = keys, values


class DisplacedPair(Paired):
    """A decoder with wrong positions: 0 for every token."""

    cohort = _Displaced


class PaddedSourcePair(Paired):
    """A decoder that sees the padding of the encoder's side."""

    cohort = _PaddedSource


class UnwrittenPair(Paired):
    """A decoder that sees columns in which nothing is written."""

    cohort = _Unwritten


class OtherSourcePair(Paired):
    """A decoder that reads the source of another row, once a row has left."""

    cohort = _OtherSource


OF_CAUSAL = (Displaced, Unmasked)
OF_PAIRS = (DisplacedPair, PaddedSourcePair, UnwrittenPair, OtherSourcePair)
