"""Truncation of long rows: only the beginning is kept."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from loquent.models.tokens.batch import TokenBatch


def truncated(batch: TokenBatch, length: int) -> TokenBatch:
    """The first `length` tokens of each row, as the code of arXiv:2206.11871 cuts them.

    A row that is cut has not ended. It loses the later tokens with their rewards, and the value of its last
    remaining token is bootstrapped. `token_batch` itself drops whole oldest turns instead, so that no answer
    is lost.
    """
    cut = batch.real.sum(1) > length
    changed: dict[str, Any] = {}
    for field in fields(batch):
        value = getattr(batch, field.name)
        if isinstance(value, Tensor) and value.ndim == 2:
            changed[field.name] = value[:, :length]
    if batch.support is not None:
        columns = batch.is_action.nonzero()[:, 1].cpu()
        changed["support"] = batch.support.take(torch.nonzero(columns < length).flatten().numpy())
    return replace(
        batch, **changed, ended=batch.ended & ~cut, bootstrap=None if bool(cut.any()) else batch.bootstrap
    )
