"""The live rows of a causal model or of its trunk, with and without a cache.

Prompts join, all rows step together, and finished rows leave. `Cached` stores keys and values in slabs that
grow by blocks, so that a step copies nothing; the layers of transformers copy everything at every step.
`Uncached` reads every row again at each step, which is slow but correct for every causal model.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from transformers.cache_utils import DynamicCache, DynamicLayer

from loquent.models.caches.last import Gives, Last
from loquent.models.caches.prompts import PREFILL, distinct, passes
from loquent.pretrained import context, head, hidden, logits, pad_rows

BLOCK = 32  # columns that a slab grows by


@runtime_checkable
class Rows(Protocol):
    """The live rows of one network."""

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Add rows; the result is at the last tokens of the new rows."""
        ...

    def step(self, ids: Tensor) -> Last:
        """Add one id to every row; the result is at the last tokens of all rows."""
        ...

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order."""
        ...


class Slab(DynamicLayer):  # type: ignore[misc]  # transformers has no types
    """The keys and values of one layer, [rows, heads, capacity, width]; the first `used` columns are written.

    After the first pass, `update` returns complete slabs, so nothing is copied and they stay contiguous. The
    mask hides unwritten columns.
    """

    keys: Tensor
    values: Tensor
    used = 0

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new columns after the old ones; there must be room for them."""
        start, self.used = self.used, self.used + key_states.shape[-2]
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self.keys, self.values = (
                nn.functional.pad(states, (0, 0, 0, BLOCK)) for states in (key_states, value_states)
            )
            return key_states, value_states
        self.keys[:, :, start : self.used] = key_states
        self.values[:, :, start : self.used] = value_states
        return self.keys, self.values

    def get_seq_length(self) -> int:
        """The number of written columns."""
        return self.used

    def grow(self) -> None:
        """Make room for another block of columns."""
        self.keys, self.values = (
            nn.functional.pad(slab, (0, 0, 0, BLOCK)) for slab in (self.keys, self.values)
        )

    def keep(self, index: Tensor, first: int) -> None:
        """Keep the rows at `index` and the columns from `first` on."""
        self.keys, self.values = (slab[:, :, first:][index] for slab in (self.keys, self.values))
        self.used -= first

    def repeat(self, index: Tensor) -> None:
        """Replace the rows by those at `index`, which may occur several times."""
        self.keys, self.values = (slab[index] for slab in (self.keys, self.values))

    def merge(self, other: Slab) -> None:
        """Append another slab's rows; both end at the same column, with zeros on the left."""
        width = max(self.used, other.used)

        def align(slab: Tensor, used: int) -> Tensor:
            return nn.functional.pad(slab[:, :, :used], (0, 0, width - used, BLOCK))

        self.keys = torch.cat([align(self.keys, self.used), align(other.keys, other.used)])
        self.values = torch.cat([align(self.values, self.used), align(other.values, other.used)])
        self.used = width


class Cached:
    """Rows padded on the left, with explicit positions, over one cache of slabs."""

    def __init__(self, module: Any, pad: int, gives: Gives = "logits") -> None:
        self.module, self.pad, self.last, self.gives = module, pad, context(module) - 1, gives
        self.layers: list[Slab] = []
        self.cache: Any = None
        self.mask = torch.empty(0)  # [rows, 1, 1, capacity]: -inf at hidden columns, else 0
        self.length = torch.empty(0)  # int64[rows]
        has_option = "logits_to_keep" in inspect.signature(module.forward).parameters
        self.logits_option = {"logits_to_keep": 1} if has_option else {}

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Append rows: prompts are read in passes of at most `PREFILL` padded tokens, equal ones once."""
        different, which = distinct(prompts)
        before, first, found = len(self.length), 0, []
        for size in passes([len(prompt) for prompt in different], PREFILL):
            found.append(self._read(different[first:][:size]))
            first += size
        last = Last(*(None if parts[0] is None else torch.cat(parts) for parts in zip(*found, strict=True)))
        if len(different) == len(prompts):
            return last
        index = torch.tensor(which, device=self.length.device)
        rows = torch.cat([torch.arange(before, device=index.device), before + index])
        self.mask, self.length = self.mask[rows], self.length[rows]
        for layer in self.layers:
            layer.repeat(rows)
        return Last(*(None if part is None else part[index] for part in last))

    def _read(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Read prompts in one pass, and append their rows."""
        ids, real = pad_rows(prompts, self.pad, self.module.device, left=True)
        cache = DynamicCache(config=self.module.config)
        slabs = [Slab() for _ in cache.layers]
        cache.layers = [*slabs]
        last = self._forward(ids, self._visible(real), (real.cumsum(1) - 1).clamp_min(0), cache)
        length = real.sum(1)
        mask = torch.zeros(len(ids), 1, 1, ids.shape[1], dtype=self.module.dtype, device=ids.device)
        mask.masked_fill_(~real[:, None, None], -torch.inf)
        if not len(self.length):
            self.cache, self.layers, self.length = cache, slabs, length
            self.mask = nn.functional.pad(mask, (0, BLOCK), value=-torch.inf)
            return last
        used = self.layers[0].used
        for layer, other in zip(self.layers, slabs, strict=True):
            layer.merge(other)
        width = self.layers[0].used
        masks = [
            nn.functional.pad(part, (width - part.shape[3], BLOCK), value=-torch.inf)
            for part in (self.mask[..., :used], mask)
        ]
        self.mask, self.length = torch.cat(masks), torch.cat([self.length, length])
        return last

    def _visible(self, real: Tensor) -> Tensor:
        """The attention mask of a pass over prompts padded on the left.

        In float64 padding reads itself: a softmax in float32, as eager attention has, is nan without anything
        to read, because the least float64 is -inf there.
        """
        if self.module.dtype != torch.float64 or bool(real.all()):
            return real.long()
        causal = torch.ones(real.shape[1], real.shape[1], dtype=torch.bool, device=real.device).tril()
        seen = causal & real[:, None] | torch.eye(len(causal), dtype=torch.bool, device=real.device)
        hidden = torch.zeros(seen.shape, dtype=self.module.dtype, device=real.device)
        return hidden.masked_fill_(~seen, -torch.inf)[:, None]

    def step(self, ids: Tensor) -> Last:
        """One forward pass over one new column."""
        if self.layers[0].used == self.mask.shape[3]:
            self.mask = nn.functional.pad(self.mask, (0, BLOCK), value=-torch.inf)
            for layer in self.layers:
                layer.grow()
        self.mask[..., self.layers[0].used] = 0
        # only a finished row that is not dropped yet can exceed the last position
        positions = self.length.clamp_max(self.last)[:, None]
        self.length = self.length + 1
        return self._forward(ids[:, None], self.mask, positions, self.cache)

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, and the columns in which one of them has a token."""
        self.mask, self.length = self.mask[index], self.length[index]
        first = int((self.mask == 0).flatten(1).any(0).to(torch.uint8).argmax()) if len(index) else 0
        self.mask = self.mask[..., first:]
        for layer in self.layers:
            layer.keep(index, first)

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any) -> Last:
        inputs = {
            "input_ids": ids,
            "attention_mask": mask,
            "position_ids": positions,
            "past_key_values": cache,
        }
        if self.gives == "states":
            return Last(None, self.module(**inputs, use_cache=True).last_hidden_state[:, -1])
        if self.gives == "logits":
            return Last(self.module(**inputs, use_cache=True, **self.logits_option).logits[:, -1], None)
        output = self.module(**inputs, use_cache=True, output_hidden_states=True, **self.logits_option)
        return Last(output.logits[:, -1], output.hidden_states[-1][:, -1])


class Uncached:
    """Rows as lists of ids, padded on the right and read completely at every step."""

    def __init__(self, module: Any, pad: int, gives: Gives = "logits") -> None:
        self.module, self.pad, self.longest, self.gives = module, pad, context(module), gives
        self.rows: list[list[int]] = []

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Read the new rows."""
        new = [list(prompt) for prompt in prompts]
        self.rows += new
        return self._read(new)

    def step(self, ids: Tensor) -> Last:
        """Read all rows again."""
        self.rows = [
            [*row, token][-self.longest :] for row, token in zip(self.rows, ids.tolist(), strict=True)
        ]
        return self._read(self.rows)

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order."""
        self.rows = [self.rows[i] for i in index.tolist()]

    def _read(self, rows: list[list[int]]) -> Last:
        ids, real = pad_rows(rows, self.pad, self.module.device)
        last, row = real.sum(1) - 1, torch.arange(len(rows), device=ids.device)
        layer = None if self.gives == "states" else head(self.module)
        states = hidden(self.module, ids)[row, last] if self.gives != "logits" or layer is not None else None
        if self.gives == "states":
            return Last(None, states)
        if layer is not None and states is not None:
            return Last(layer(states), states if self.gives == "both" else None)
        return Last(logits(self.module, ids)[row, last], states)


def may_serve(module: Any) -> bool:
    """Whether the signature and the configuration of a model allow our cache."""
    required = {"position_ids", "past_key_values", "attention_mask", "use_cache"}
    if not required <= inspect.signature(module.forward).parameters.keys():
        return False
    layers = DynamicCache(config=module.config).layers
    # no sliding windows, and no states of recurrent layers
    return bool(layers) and all(type(layer) is DynamicLayer for layer in layers)
