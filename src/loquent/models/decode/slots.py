"""The live rows of a GPT-2-shaped model or of its trunk.

Keys and values are written in place into slots, and each step has a single query per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from loquent.models.decode.last import Gives, Last
from loquent.models.decode.prompts import PREFILL, distinct, passes
from loquent.pretrained import gpt2, padded
from loquent.pretrained.footprint import type_of_products

BLOCK = 64  # columns that slots grow by: growing copies the slots, and unused columns cost attention


class Slots:
    """The live rows of a GPT-2-shaped causal model: each has its own slot, filled from the first column on.

    A row that leaves costs nothing, and a prompt that joins writes only its own keys and values. Attention
    covers complete slots with unwritten columns hidden, because a product over contiguous slots is several
    times faster than one over their written parts.

    Args:
        rows: the most live rows.
        columns: the longest row, in tokens that are read.
    """

    def __init__(self, module: Any, pad: int, rows: int, columns: int, gives: Gives = "logits") -> None:
        self.module, self.trunk, self.pad = module, module.base_model, pad
        self.columns, self.gives = columns, gives
        attention, device = self.trunk.h[0].attn, module.device
        dtype = type_of_products(module)  # that of the keys and values that will be written
        empty = torch.zeros(rows, attention.num_heads, 0, attention.head_dim, dtype=dtype, device=device)
        self.keys, self.values = [empty for _ in self.trunk.h], [empty for _ in self.trunk.h]
        self.mask = torch.zeros(rows, 1, 1, 0, dtype=module.dtype, device=device)  # -inf at hidden columns
        self.length = torch.zeros(rows, dtype=torch.long, device=device)
        self.row = torch.arange(rows, device=device)
        self.used = self.count = 0

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Read prompts into free slots; the result is at their last tokens.

        Equal prompts are read once, and long ones in passes of at most `PREFILL` padded tokens.
        """
        different, which = distinct(prompts)
        new, width = slice(self.count, self.count + len(prompts)), max(map(len, prompts))
        self._grow(width)
        parts, first = [], self.count
        for size in passes([len(prompt) for prompt in different], PREFILL):
            parts.append(self._read(different[first - self.count :][:size], first))
            first += size
        states = torch.cat(parts)
        if len(different) < len(prompts):
            index = torch.tensor(which, device=states.device)
            states = states[index]
            for part in (*self.keys, *self.values):
                part[new, :, :width] = part[self.count + index, :, :width]
            for part in (self.mask, self.length):
                part[new] = part[self.count + index]
        self.used, self.count = max(self.used, width), new.stop
        return self._last(states)

    def _read(self, prompts: Sequence[Sequence[int]], first: int) -> Tensor:
        """The states at the last tokens of prompts, which are read into the slots from `first` on."""
        ids, real = padded(prompts, self.pad, self.module.device)
        new, width, length = slice(first, first + len(ids)), ids.shape[1], real.sum(1)
        stores = [
            (keys[new, :, :width], values[new, :, :width])
            for keys, values in zip(self.keys, self.values, strict=True)
        ]
        states = gpt2.last_hidden(self.trunk, ids, (length - 1)[:, None], stores)
        self.mask[new] = -torch.inf
        self.mask[new, 0, 0, :width].masked_fill_(real, 0.0)
        self.length[new] = length
        return states[:, 0]

    def step(self, ids: Tensor) -> Last:
        """Add one id to every row; the result is at the last tokens of all rows."""
        n = self.count
        # only a finished row that is not dropped yet can exceed the last column
        column = self.length[:n].clamp_max(self.columns - 1)
        self.length[:n] += 1
        self.used = min(self.used + 1, self.columns)
        self._grow(self.used)
        self.mask[self.row[:n], 0, 0, column] = 0
        hidden = self.trunk.wte(ids) + self.trunk.wpe(column)
        for block, keys, values in zip(self.trunk.h, self.keys, self.values, strict=True):
            hidden = self._attend(block, hidden, keys[:n], values[:n], column)
            hidden = hidden + gpt2.feed_forward(block, hidden)
        return self._last(self.trunk.ln_f(hidden))

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order; rows that keep their place are not copied."""
        moved = (index != self.row[: len(index)]).nonzero()[:, 0]
        if len(moved):
            source = index[moved]
            for part in (*self.keys, *self.values, self.mask, self.length):
                part[moved] = part[source]
        self.count = len(index)
        self.used = min(int(self.length[: self.count].max()), self.columns) if self.count else 0

    def _last(self, states: Tensor) -> Last:
        return Last(
            None if self.gives == "states" else self.module.lm_head(states),
            None if self.gives == "logits" else states,
        )

    def _grow(self, used: int) -> None:
        """Make room for `used` columns, and for one more block."""
        more = min(used + BLOCK, self.columns) - self.mask.shape[3]
        if used > self.mask.shape[3]:
            self.keys = [F.pad(slots, (0, 0, 0, more)) for slots in self.keys]
            self.values = [F.pad(slots, (0, 0, 0, more)) for slots in self.values]
            self.mask = F.pad(self.mask, (0, more), value=-torch.inf)

    def _attend(self, block: Any, hidden: Tensor, keys: Tensor, values: Tensor, column: Tensor) -> Tensor:
        """The hidden states plus the attention of one layer, with one query per row."""
        n, attention = len(hidden), block.attn
        parts = gpt2.product(attention.c_attn, block.ln_1(hidden)).view(
            n, 3, attention.num_heads, attention.head_dim
        )
        keys[self.row[:n], :, column], values[self.row[:n], :, column] = parts[:, 1], parts[:, 2]
        query = parts[:, 0, :, None] * attention.scaling
        weights = (torch.matmul(query, keys.transpose(2, 3)) + self.mask[:n]).softmax(-1)
        return hidden + gpt2.product(attention.c_proj, torch.matmul(weights, values).view(n, -1))
