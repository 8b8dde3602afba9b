"""Rows of a causal model under way: prompts join, all rows step together, finished rows leave.

`Cached` keeps keys and values in slabs that grow by blocks, so a step copies nothing (the library's own layer copies all of them at
every step). `Uncached` reads every row again at each step: slow, and right for every causal model. `rows_of` picks the first where a
probe shows that it gives what the model gives without a cache.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache, DynamicLayer

from loquent.pretrained import context, head, hidden, padded

BLOCK = 64  # columns a slab grows by

_serves: weakref.WeakKeyDictionary[nn.Module, bool] = weakref.WeakKeyDictionary()


class Rows(Protocol):
    """What a decoding loop asks of a model; logits are [rows, V] for the next token."""

    def join(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Add rows at the end; the logits of the new rows."""
        ...

    def step(self, ids: Tensor) -> Tensor:
        """Add one id to every row; the logits of all rows."""
        ...

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order."""
        ...


class Slab(DynamicLayer):  # type: ignore[misc]
    """Keys and values of one layer, [rows, heads, columns, width], at the front of a larger tensor."""

    used = 0

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Write the new columns behind the old ones."""
        start, self.used = self.used, self.used + key_states.shape[-2]
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self.slabs = tuple(states.new_zeros(*states.shape[:2], self.used + BLOCK, states.shape[3]) for states in (key_states, value_states))
        elif self.used > self.slabs[0].shape[2]:
            self.slabs = tuple(nn.functional.pad(slab, (0, 0, 0, BLOCK + self.used - slab.shape[2])) for slab in self.slabs)
        for slab, states in zip(self.slabs, (key_states, value_states), strict=True):
            slab[:, :, start : self.used] = states
        return self._view()

    def keep(self, index: Tensor, first: int) -> None:
        """Keep the rows at `index` and the columns from `first` on."""
        self.slabs = tuple(slab[:, :, first:][index] for slab in self.slabs)
        self.used -= first
        self._view()

    def merge(self, other: Slab) -> None:
        """Put another slab's rows under these; both end at the same column, zeros stand on the left."""
        wide = max(self.used, other.used)
        merged = []
        for above, below in zip(self.slabs, other.slabs, strict=True):
            slab = above.new_zeros(len(above) + len(below), above.shape[1], wide + BLOCK, above.shape[3])
            slab[: len(above), :, wide - self.used : wide] = above[:, :, : self.used]
            slab[len(above) :, :, wide - other.used : wide] = below[:, :, : other.used]
            merged.append(slab)
        self.slabs, self.used = tuple(merged), wide
        self._view()

    def _view(self) -> tuple[Tensor, Tensor]:
        self.keys, self.values = (slab[:, :, : self.used] for slab in self.slabs)
        return self.keys, self.values


class Cached:
    """Rows padded on the left, with explicit positions, over one cache of slabs."""

    def __init__(self, module: Any, pad: int) -> None:
        self.module, self.pad, self.last = module, pad, context(module) - 1
        self.cache: Any = None
        self.real = self.length = torch.empty(0)  # bool[rows, columns] and i64[rows], once there are rows
        self.keeps_logits = {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(module.forward).parameters else {}

    def join(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Read prompts in one pass beside the rows under way, then put them under these."""
        ids, real = padded(prompts, self.pad, self.module.device, left=True)
        cache = _slabs(self.module)
        logits = self._forward(ids, real, (real.cumsum(1) - 1).clamp_min(0), cache)
        length = real.sum(1)
        if self.cache is None or not len(self.real):
            self.cache, self.real, self.length = cache, real, length
            return logits
        for layer, other in zip(self.cache.layers, cache.layers, strict=True):
            layer.merge(other)
        wide = max(self.real.shape[1], real.shape[1])
        self.real = torch.cat([nn.functional.pad(part, (wide - part.shape[1], 0)) for part in (self.real, real)])
        self.length = torch.cat([self.length, length])
        return logits

    def step(self, ids: Tensor) -> Tensor:
        """One forward pass over one new column."""
        self.real = torch.cat([self.real, self.real.new_ones(len(ids), 1)], 1)
        positions = self.length.clamp_max(self.last)[:, None]  # only a finished row that was not yet dropped can pass the last
        self.length = self.length + 1
        return self._forward(ids[:, None], self.real, positions, self.cache)

    def keep(self, index: Tensor) -> None:
        """Drop rows, and the columns in which only they had tokens."""
        self.real, self.length = self.real[index], self.length[index]
        first = int(self.real.any(0).to(torch.uint8).argmax()) if len(index) else 0
        self.real = self.real[:, first:]
        for layer in self.cache.layers:
            layer.keep(index, first)

    def _forward(self, ids: Tensor, real: Tensor, positions: Tensor, cache: Any) -> Tensor:
        inputs = {"input_ids": ids, "attention_mask": real.long(), "position_ids": positions, "past_key_values": cache}
        return self.module(**inputs, use_cache=True, **self.keeps_logits).logits[:, -1]  # type: ignore[no-any-return]


class Uncached:
    """Rows as lists of ids, padded on the right and read whole at every step."""

    def __init__(self, module: Any, pad: int) -> None:
        self.module, self.pad, self.longest = module, pad, context(module)
        self.rows: list[list[int]] = []

    def join(self, prompts: Sequence[Sequence[int]]) -> Tensor:
        """Read the new rows."""
        new = [list(prompt) for prompt in prompts]
        self.rows += new
        return self._read(new)

    def step(self, ids: Tensor) -> Tensor:
        """Read all rows again."""
        self.rows = [[*row, token][-self.longest :] for row, token in zip(self.rows, ids.tolist(), strict=True)]
        return self._read(self.rows)

    def keep(self, index: Tensor) -> None:
        """Drop rows."""
        self.rows = [self.rows[i] for i in index.tolist()]

    def _read(self, rows: list[list[int]]) -> Tensor:
        ids, real = padded(rows, self.pad, self.module.device)
        last, row = real.sum(1) - 1, torch.arange(len(rows), device=ids.device)
        layer = head(self.module)
        if layer is not None:
            return layer(hidden(self.module, ids)[row, last])  # type: ignore[no-any-return]
        return self.module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits[row, last]  # type: ignore[no-any-return]


def rows_of(module: Any, pad: int) -> Rows:
    """Rows for this model: with a cache where the model serves one truly, else without."""
    if module not in _serves:
        _serves[module] = _serves_cache(module)
    return Cached(module, pad) if _serves[module] else Uncached(module, pad)


def _slabs(module: Any) -> Any:
    cache = DynamicCache(config=module.config)
    cache.layers = [Slab() for _ in cache.layers]
    return cache


def _serves_cache(module: Any) -> bool:
    """Whether the model takes our cache, left padding and explicit positions, shown by one comparison with a plain pass."""
    wanted = {"position_ids", "past_key_values", "attention_mask", "use_cache"}
    if not wanted <= inspect.signature(module.forward).parameters.keys():
        return False
    layers = DynamicCache(config=module.config).layers
    if not layers or any(type(layer) is not DynamicLayer for layer in layers):
        return False  # sliding windows, states of recurrent layers
    vocabulary = module.get_input_embeddings().weight.shape[0]
    prompts = [[i % vocabulary for i in ids] for ids in ([1, 2, 3, 4], [5, 6], [7])]
    following = torch.tensor([8 % vocabulary, 9 % vocabulary], device=module.device)
    rows, plain = Cached(module, 0), Uncached(module, 0)
    try:
        for one in (rows, plain):
            one.join(prompts[:2])
            one.join(prompts[2:])
            one.keep(torch.tensor([2, 1], device=module.device))
        ours, whole = rows.step(following), plain.step(following)
    except Exception:  # a model's own code may raise anything when its cache is of another kind
        return False
    within = 1e-3 if ours.dtype in (torch.float32, torch.float64) else 5e-2
    return bool((ours - whole).abs().max() <= within * whole.abs().max())
