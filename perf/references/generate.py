"""Decoding by the `generate` of transformers, as its users call it: one padded batch, its default cache,
sampling on.

Follows the library's documentation of text generation, and the generation paragraph of the RL4LMs notes
(§1.7: one batched `generate` for all environments). A batch is under way until its longest answer ends; more
prompts than a batch are taken in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


@torch.inference_mode()
def generate(
    module: Any,
    prompts: Sequence[Sequence[int]],
    new: int,
    *,
    batch: int = 64,
    lengths: Sequence[int] | None = None,
    **options: Any,
) -> list[list[int]]:
    """Answers of `new` tokens, or of each row's own length."""
    from transformers import StoppingCriteriaList

    found: list[list[int]] = []
    for first in range(0, len(prompts), batch):
        ids = torch.tensor(prompts[first : first + batch], device=module.device)
        mine = None if lengths is None else torch.tensor(lengths[first : first + batch], device=module.device)
        stopping = (
            None
            if mine is None
            else StoppingCriteriaList(
                [lambda ids, scores, mine=mine, wide=ids.shape[1]: ids.shape[1] - wide >= mine]
            )
        )
        settings = {
            "max_new_tokens": new,
            "pad_token_id": 0,
            "eos_token_id": None,
            "stopping_criteria": stopping,
            **options,
        }
        said = module.generate(ids, attention_mask=torch.ones_like(ids), **settings)[
            :, ids.shape[1] :
        ].tolist()
        found += said if mine is None else [row[:n] for row, n in zip(said, mine.tolist(), strict=True)]
    return found
