"""Rows of a GPT-2-shaped model, or of its trunk, under way: keys and values in slots that are written in
place, a single query a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from loquent.models.decode.last import Gives, Last
from loquent.pretrained import gpt2, padded

BLOCK = 64  # columns that slots grow by: growing copies them, unused ones are attended to for nothing


class Slots:
    """Rows of a GPT-2-shaped causal model under way: each has a slot of its own that is filled from its first
    column on.

    A row that leaves costs nothing, a prompt that joins writes only its own keys and values. A slot is
    attended to whole, unwritten columns hidden: the product over contiguous slots is several times faster
    than over the written part of them.

    Args:
        rows: the most rows at once.
        columns: the longest row, in tokens that are read.
    """

    def __init__(self, module: Any, pad: int, rows: int, columns: int, gives: Gives = "logits") -> None:
        self.module, self.trunk, self.pad, self.columns, self.gives = (
            module,
            module.base_model,
            pad,
            columns,
            gives,
        )
        attention = self.trunk.h[0].attn
        kind = module.device.type
        dtype = (
            torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else module.dtype
        )  # that of what will be written
        empty = torch.zeros(
            rows, attention.num_heads, 0, attention.head_dim, dtype=dtype, device=module.device
        )
        self.keys, self.values = [empty for _ in self.trunk.h], [empty for _ in self.trunk.h]
        self.hidden = torch.zeros(
            rows, 1, 1, 0, dtype=module.dtype, device=module.device
        )  # -inf at columns not to be seen
        self.length = torch.zeros(rows, dtype=torch.long, device=module.device)
        self.row = torch.arange(rows, device=module.device)
        self.used = self.count = 0

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Read prompts in one pass into free slots; what stands at their ends."""
        ids, real = padded(prompts, self.pad, self.module.device)
        new, wide, length = slice(self.count, self.count + len(ids)), ids.shape[1], real.sum(1)
        self._grow(wide)
        stores = [
            (keys[new, :, :wide], values[new, :, :wide])
            for keys, values in zip(self.keys, self.values, strict=True)
        ]
        states = gpt2.last_hidden(self.trunk, ids, (length - 1)[:, None], stores)
        self.hidden[new] = -torch.inf
        self.hidden[new, 0, 0, :wide].masked_fill_(real, 0.0)
        self.length[new] = length
        self.used, self.count = max(self.used, wide), new.stop
        return self._last(states[:, 0])

    def step(self, ids: Tensor) -> Last:
        """Add one id to every row; what stands at the end of all rows."""
        n = self.count
        at = self.length[:n].clamp_max(
            self.columns - 1
        )  # only a finished row that was not yet dropped can pass the last
        self.length[:n] += 1
        self.used = min(self.used + 1, self.columns)
        self._grow(self.used)
        self.hidden[self.row[:n], 0, 0, at] = 0
        hidden = self.trunk.wte(ids) + self.trunk.wpe(at)
        for block, keys, values in zip(self.trunk.h, self.keys, self.values, strict=True):
            hidden = self._attend(block, hidden, keys[:n], values[:n], at)
            hidden = hidden + gpt2.feed_forward(block, hidden)
        return self._last(self.trunk.ln_f(hidden))

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order; rows that stay in their place are not touched."""
        moved = (index != self.row[: len(index)]).nonzero()[:, 0]
        if len(moved):
            source = index[moved]
            for part in (*self.keys, *self.values, self.hidden, self.length):
                part[moved] = part[source]
        self.count = len(index)
        self.used = min(int(self.length[: self.count].max()), self.columns) if self.count else 0

    def _last(self, states: Tensor) -> Last:
        return Last(
            None if self.gives == "states" else self.module.lm_head(states),
            None if self.gives == "logits" else states,
        )

    def _grow(self, used: int) -> None:
        """Make room for so many columns, and a block more."""
        more = min(used + BLOCK, self.columns) - self.hidden.shape[3]
        if used > self.hidden.shape[3]:
            self.keys, self.values = (
                [F.pad(slots, (0, 0, 0, more)) for slots in part] for part in (self.keys, self.values)
            )
            self.hidden = F.pad(self.hidden, (0, more), value=-torch.inf)

    def _attend(self, block: Any, hidden: Tensor, keys: Tensor, values: Tensor, at: Tensor) -> Tensor:
        """The hidden states with the attention of one layer added, one query a row."""
        n, attention = len(hidden), block.attn
        parts = gpt2.product(attention.c_attn, block.ln_1(hidden)).view(
            n, 3, attention.num_heads, attention.head_dim
        )
        keys[self.row[:n], :, at], values[self.row[:n], :, at] = parts[:, 1], parts[:, 2]
        weights = (
            torch.matmul(parts[:, 0, :, None] * attention.scaling, keys.transpose(2, 3)) + self.hidden[:n]
        ).softmax(-1)
        return hidden + gpt2.product(attention.c_proj, torch.matmul(weights, values).view(n, -1))
