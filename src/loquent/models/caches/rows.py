"""The choice of rows for a model: slots, a cache, or no cache.

A cache is used only if a comparison shows that it gives what the model gives without one.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from loquent.errors import BadSetting
from loquent.models.caches import twins
from loquent.models.caches.cache import Cached, Rows, Uncached, may_serve
from loquent.models.caches.encoder_decoder import Paired
from loquent.models.caches.last import Gives
from loquent.models.caches.slots import Slots
from loquent.pretrained import head
from loquent.pretrained.encoder_decoders import is_pair, source_ids
from loquent.pretrained.footprint import type_of_products
from loquent.pretrained.forward import pass_of

# the configuration and the types of weights and products with which each model's cache passed the comparison
_passed: weakref.WeakKeyDictionary[nn.Module, tuple[str, torch.dtype, torch.dtype]] = (
    weakref.WeakKeyDictionary()
)


def rows_of(
    module: Any, pad: int, rows: int, columns: int, gives: Gives = "logits", *, compiles: bool = False
) -> Rows:
    """The rows for a model: slots if a forward pass of ours serves, else a cache if it serves, else no cache.

    Args:
        module: a causal model, or (gives "states") the trunk of one.
        rows: the most live rows.
        columns: the longest row, in tokens that are read.
        compiles: whether torch compiles the steps.

    Raises:
        BadSetting: steps shall be compiled, and no forward pass of ours serves or a compiler is missing.
    """
    own = pass_of(module)
    if compiles:
        if own is None:
            raise BadSetting(
                f"decoding.compile = true does not serve {type(module).__name__}; it serves what a forward "
                "pass of ours computes: GPT-2, Llama, Mistral, Qwen 2 and Qwen 3 without hooks; set "
                "decoding.compile (or evaluation.compile) to false"
            )
        # imported here because torch's compiler takes seconds to import
        from loquent.models.caches.compilation import compiled_step

        return Slots(own, module, pad, rows, columns, gives, compiled_step(module.device))
    if is_pair(module):
        return Paired(module, pad, gives) if pair_serves(module, gives) else Uncached(module, pad, gives)
    if own is not None:
        return Slots(own, module, pad, rows, columns, gives)
    return Cached(module, pad, gives) if serves(module, gives) else Uncached(module, pad, gives)


def serves(module: Any, gives: Gives = "logits") -> bool:
    """Whether the model works with our cache, left padding and explicit positions.

    Its signature and configuration must allow it, and a comparison with plain passes must confirm it.
    """
    return may_serve(module) and _compared(module, gives, Cached, twins.OF_CAUSAL, 1e-3)


def pair_serves(module: Any, gives: Gives = "logits") -> bool:
    """Whether an encoder-decoder works with our cache: a comparison with plain passes must confirm it."""
    if gives != "states" and head(module) is None:
        return False
    return _compared(module, gives, Paired, twins.OF_PAIRS, 1e-4)


def _compared(module: Any, gives: Gives, ours: Any, wrong: Sequence[Any], most: float) -> bool:
    """Whether a cache gives what plain passes give.

    It must be ten times nearer to them than every cache of `twins`. The positive result is stored for this
    configuration and these types of weights and products. A fresh model may ignore positions, padding or its
    encoder, so that the wrong caches are no further off. Then the cache serves if it is equal up to rounding,
    and the comparison is repeated at the next call.

    Args:
        module: the model.
        gives: what rows give.
        ours: the kind of rows.
        wrong: its twins.
        most: the largest distance, as a share of the largest result; 0.05 with products in half precision.
    """
    products = type_of_products(module)
    settings = (module.config.to_json_string(use_diff=False), module.dtype, products)
    if _passed.get(module) == settings:
        return True
    gives = "states" if gives == "states" else "logits"
    with torch.no_grad():
        plain, found = (_probe(kind(module, 0, gives)) for kind in (Uncached, ours))
        if plain is None or found is None:
            return False
        error = _distance(found, plain)
        if not error <= (most if products in (torch.float32, torch.float64) else 5e-2):
            return False
        others = [_probe(kind(module, 0, gives)) for kind in wrong]
    if all(other is None or _distance(other, plain) > 10 * error for other in others):
        _passed[module] = settings
        return True
    return error <= 100 * torch.finfo(products).eps


def _probe(rows: Rows) -> Tensor | None:
    """The result of the last of four passes in which rows join, leave and step; None if one fails.

    The rows read the id of padding, by which some models count positions.
    """
    module: Any = rows.module  # type: ignore[attr-defined]  # transformers has no types
    vocabulary = module.get_input_embeddings().weight.shape[0]
    prompts = [[i % vocabulary for i in ids] for ids in ([1, 2, 3, 4], [5, 6], [7])]
    if is_pair(module):
        prompts = [[*source_ids(ids), ids[0]] for ids in prompts]
    try:
        rows.join(prompts[:2])
        rows.join(prompts[2:])
        rows.keep(torch.tensor([2, 1], device=module.device))
        pad = getattr(module.config.get_text_config(decoder=True), "pad_token_id", None)
        pad = 8 if pad is None else pad
        for ids in ([pad, 9], [10, pad]):
            last = rows.step(torch.tensor([i % vocabulary for i in ids], device=module.device))
    except Exception:  # a model with another kind of cache may raise any error
        return None
    return last.states if last.logits is None else last.logits


def _distance(result: Tensor, plain: Tensor) -> float:
    return float((result - plain).abs().max() / plain.abs().max())
