"""The paper's way with rows that are too long: keep the beginning."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from loquent.models.tokens.batch import TokenBatch


def truncated(batch: TokenBatch, length: int) -> TokenBatch:
    """The first `length` tokens of each row, as the code of arXiv:2206.11871 cuts them.

    A row that is cut has not ended.

    An answer that is cut loses what came later, its reward included, and the last token that is left is the
    state whose value stands for the rest. Rows made by `token_batch` drop whole oldest turns instead, so that
    no answer is lost.
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
