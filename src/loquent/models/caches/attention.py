"""An attention function that is fast for single queries over a cache."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from loquent.models.caches.cache import may_serve

ATTENTION = "loquent_single_query"  # our name among the attention functions of transformers


@contextmanager
def fast_single_queries(*modules: Any) -> Iterator[None]:
    """Inside this context, models with torch's fused attention use ours for single queries.

    It applies to models that may have a cache. Their setting is restored at the end.
    """
    fused = [
        module
        for module in modules
        # a private name of transformers >= 5, < 6, the only one; tests/test_private_names.py checks it
        if getattr(module.config, "_attn_implementation", None) == "sdpa" and may_serve(module)
    ]
    for module in fused:
        module.set_attn_implementation(ATTENTION)
    try:
        yield
    finally:
        for module in fused:
            module.set_attn_implementation("sdpa")


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """softmax(q k / sqrt(d) + mask) v for one query per row; other cases go to torch.

    Heads that share keys are computed together.
    """
    if (
        query.shape[2] != 1
        or attention_mask is None
        or attention_mask.dtype != query.dtype
        or options.get("position_bias") is not None
    ):
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)  # type: ignore[no-any-return]  # transformers has no types
    rows, heads, _, width = query.shape
    scale = options.get("scaling")
    grouped = query.reshape(rows, key.shape[1], -1, width) * (width**-0.5 if scale is None else scale)
    weights = (torch.matmul(grouped, key.transpose(2, 3)) + attention_mask).softmax(-1)
    return torch.matmul(weights, value).reshape(rows, 1, heads, value.shape[3]), None


AttentionInterface.register(ATTENTION, _attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)
