"""What every forward pass of a causal network needs: its output layer, padding, groups by token budget, evaluation mode."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from loquent.pretrained import gpt2

_heads: weakref.WeakKeyDictionary[nn.Module, tuple[nn.Module | None]] = weakref.WeakKeyDictionary()


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
    """Whether a pass, in the mode that each part is in, leaves something out at random: by a layer, or by a rate that a part keeps as its own."""
    return any(part.training and any(rate > 0 for rate in _dropout_rates(part)) for part in module.modules())


def _dropout_rates(part: nn.Module) -> list[float]:
    if isinstance(part, nn.modules.dropout._DropoutNd):
        return [part.p]
    return [value for name, value in vars(part).items() if "drop" in name and isinstance(value, float)]


def head(module: Any) -> nn.Module | None:
    """The output layer of a causal model whose logits are just that layer of its last hidden states; None for others.

    Probed once per model: caps, scales and other things after the layer make it None, and its own logits must be used.
    """
    if module not in _heads:
        layer = module.get_output_embeddings()
        ids = torch.arange(4, device=module.device)[None] % module.get_input_embeddings().weight.shape[0]
        with evaluating(module), torch.no_grad():
            own = module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
            ours = None if layer is None or module.base_model is module else layer(hidden(module, ids))
        same = ours is not None and ours.shape == own.shape and bool(torch.allclose(ours, own, rtol=1e-3, atol=1e-5))
        _heads[module] = (layer if same else None,)
    return _heads[module][0]


def hidden(module: Any, tokens: Tensor, wanted: Tensor | None = None) -> Tensor:
    """The last hidden states [B, T, D] of right-padded rows of ids, for a causal model or its trunk; one forward pass.

    Causality keeps the padding on the right out of all real positions, so the mask is all ones; positions are counted from 0.

    Args:
        wanted: the positions somebody will look at, bool[B, T], all by default; what stands at others is undefined.
    """
    inner = module.base_model
    if gpt2.serves(inner):
        return gpt2.last_hidden(inner, tokens) if wanted is None else gpt2.hidden_where(inner, tokens, wanted)
    given: dict[str, Any] = {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "use_cache": False}
    taken = inspect.signature(inner.forward).parameters
    if "position_ids" in taken:
        given["position_ids"] = torch.arange(tokens.shape[1], device=tokens.device)[None]
    if inner.get_output_embeddings() is None:
        return inner(**given).last_hidden_state  # type: ignore[no-any-return]
    if "logits_to_keep" in taken:
        given["logits_to_keep"] = 1  # nobody reads them, and all of them are large
    return inner(**given, output_hidden_states=True).hidden_states[-1]  # type: ignore[no-any-return]


def groups(lengths: Sequence[int], token_budget: int) -> list[list[int]]:
    """Indices in groups of like length, longest first, each at most `token_budget` when padded (or one row)."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    found: list[list[int]] = []
    for i in order:
        if not found or (len(found[-1]) + 1) * lengths[found[-1][0]] > token_budget:
            found.append([])
        found[-1].append(i)
    return found


def padded(rows: Sequence[Sequence[int]], pad: int, device: torch.device | str, *, left: bool = False) -> tuple[Tensor, Tensor]:
    """Rows of ids as one tensor (ids [B, T], real bool[B, T]), padded on the right or the left."""
    width = max(map(len, rows))
    lists = [[pad] * (width - len(row)) + list(row) if left else list(row) + [pad] * (width - len(row)) for row in rows]
    lengths, places = torch.tensor([len(row) for row in rows])[:, None], torch.arange(width)
    real = places >= width - lengths if left else places < lengths
    return torch.tensor(lists, dtype=torch.long).to(device), real.to(device)
