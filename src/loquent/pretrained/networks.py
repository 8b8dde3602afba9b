"""What every forward pass of a causal network needs: its last hidden states, padding, groups by token budget,
evaluation mode.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from loquent.pretrained import gpt2
from loquent.pretrained.torch_private import is_dropout


@contextmanager
def evaluating(*modules: nn.Module) -> Iterator[None]:
    """Evaluation mode inside (dropout off); every part that was training trains again after it."""
    training = [part for module in modules for part in module.modules() if part.training]
    for module in modules:
        module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def drops_out(module: nn.Module) -> bool:
    """Whether a pass, in the mode that each part is in, leaves something out at random: by a layer, or by a
    rate that a part keeps as its own.
    """
    return any(part.training and any(rate > 0 for rate in _dropout_rates(part)) for part in module.modules())


def _dropout_rates(part: nn.Module) -> list[float]:
    if is_dropout(part):
        return [float(part.p)]  # type: ignore[arg-type]  # a dropout layer has a rate
    return [value for name, value in vars(part).items() if "drop" in name and isinstance(value, float)]


def hidden(module: Any, tokens: Tensor, wanted: Tensor | None = None) -> Tensor:
    """The last hidden states [B, T, D] of right-padded rows of ids, for a causal model or its trunk.

    One forward pass.

    Causality keeps the padding on the right out of all real positions, so the mask is all ones; positions are
    the model's own.

    Args:
        wanted: the positions somebody will look at, bool[B, T], all by default; what stands at others is
            undefined.
    """
    inner = module.base_model
    if gpt2.serves(inner):
        return gpt2.last_hidden(inner, tokens) if wanted is None else gpt2.hidden_where(inner, tokens, wanted)
    given: dict[str, Any] = {
        "input_ids": tokens,
        "attention_mask": torch.ones_like(tokens),
        "use_cache": False,
    }
    if inner.get_output_embeddings() is None:
        states: Tensor = inner(**given).last_hidden_state
        return states
    if "logits_to_keep" in inspect.signature(inner.forward).parameters:
        given["logits_to_keep"] = 1  # nobody reads them, and all of them are large
    last: Tensor = inner(**given, output_hidden_states=True).hidden_states[-1]
    return last


def groups(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Indices in groups of like length, longest first, each at most `token_budget` when padded (or one
    row).
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    found: list[list[int]] = []
    for i in order:
        if not found or (len(found[-1]) + 1) * lengths[found[-1][0]] > token_budget:
            found.append([])
        found[-1].append(i)
    return found


def padded(
    rows: Sequence[Sequence[int]], pad: int, device: torch.device | str, *, left: bool = False
) -> tuple[Tensor, Tensor]:
    """Rows of ids as one tensor (ids [B, T], real bool[B, T]), padded on the right or the left."""
    width = max(map(len, rows))
    lists = [
        [pad] * (width - len(row)) + list(row) if left else list(row) + [pad] * (width - len(row))
        for row in rows
    ]
    lengths, places = torch.tensor([len(row) for row in rows])[:, None], torch.arange(width)
    real = places >= width - lengths if left else places < lengths
    return torch.tensor(lists, dtype=torch.long).to(device), real.to(device)
