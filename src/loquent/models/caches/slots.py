"""The live rows of a model or a trunk that a forward pass of ours serves.

Keys and values are written in place into slots, and each step has a single query per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from loquent.models.caches.last import Gives, Last
from loquent.models.caches.prompts import PREFILL, distinct, passes
from loquent.models.caches.single import Step, empty, token_step, wider
from loquent.pretrained import pad_rows
from loquent.pretrained.footprint import type_of_products
from loquent.pretrained.forward import Pass

BLOCK = 64  # columns that slots grow by: growing copies the slots, and unused columns cost attention


class Slots:
    """The live rows of a causal model: each has its own slot, filled from the first column on.

    A row that leaves costs nothing, and a prompt that joins writes only its own keys and values. Attention
    covers complete slots with unwritten columns hidden, because a product over contiguous slots is several
    times faster than one over their written parts. Keys and values are [rows, heads, columns, width], in a
    memory order that suits the products (`single.empty`).

    A prompt that a slot holds is not read again: a row that joins copies it. A slot holds its prompt after
    its row has left, until another row takes it.

    Args:
        own: the forward pass that serves the model.
        rows: the most live rows.
        columns: the longest row, in tokens that are read.
        token_step: computes a step.
    """

    def __init__(
        self,
        own: Pass,
        module: Any,
        pad: int,
        rows: int,
        columns: int,
        gives: Gives = "logits",
        token_step: Step = token_step,
    ) -> None:
        self.token_step = token_step
        self.own, self.module, self.trunk, self.pad = own, module, module.base_model, pad
        self.columns, self.gives = columns, gives
        # the type of the keys and values that will be written
        dtype, device = type_of_products(module), module.device
        queries = module.config.num_attention_heads
        layers = [
            empty(rows, heads, width, shared=heads != queries, dtype=dtype, device=device)
            for heads, width in own.heads(self.trunk)
        ]
        self.keys, self.values = [keys for keys, _ in layers], [values for _, values in layers]
        self.mask = torch.zeros(rows, 1, 1, 0, dtype=module.dtype, device=device)  # -inf at hidden columns
        self.length = torch.zeros(rows, dtype=torch.long, device=device)
        self.row = torch.arange(rows, device=device)
        self.used = self.count = 0
        self.held: list[tuple[int, ...] | None] = [None] * rows  # the prompt of each slot
        # [rows, H], the states at the last tokens of the prompts
        self.ends = torch.zeros(0, dtype=module.dtype, device=device)

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Read prompts into free slots; the result is at their last tokens.

        A prompt that no slot holds is read once, and long ones in passes of at most `PREFILL` padded tokens.
        """
        different, which = distinct(prompts)
        # a finished row may have written into the last column
        slot = {
            prompt: number
            for number, prompt in enumerate(self.held)
            if prompt is not None and len(prompt) < self.columns
        }
        order = sorted(range(len(different)), key=lambda number: different[number] not in slot)
        different = [different[number] for number in order]
        known = [slot[prompt] for prompt in different if prompt in slot]
        self._grow(max(map(len, prompts)))
        start = self.count
        if known:
            self._copy(slice(start, start + len(known)), known, max(map(len, different[: len(known)])))
        first = start + len(known)
        for size in passes([len(prompt) for prompt in different[len(known) :]], PREFILL):
            self._read(different[first - start :][:size], first)
            first += size
        if len(different) < len(prompts) or order != sorted(order):
            place = {number: start + i for i, number in enumerate(order)}
            self._copy(
                slice(start, start + len(prompts)),
                [place[number] for number in which],
                max(map(len, prompts)),
            )
        self.used, self.count = max(self.used, max(map(len, prompts))), start + len(prompts)
        return self._last(self.ends[start : self.count])

    def _copy(self, new: slice, slots: Sequence[int], width: int) -> None:
        """Copy prompts of at most `width` tokens from some slots to others, which may be among them."""
        index = torch.tensor(slots, device=self.mask.device)
        for keys, values in zip(self.keys, self.values, strict=True):
            keys[new, :, :width] = keys[index, :, :width]
            values[new, :, :width] = values[index, :, :width]
        self.held[new] = [self.held[number] for number in slots]
        length = torch.tensor([len(prompt or ()) for prompt in self.held[new]], device=index.device)
        self.ends[new], self.length[new] = self.ends[index], length
        self._show(new, length)

    def _show(self, new: slice, length: Tensor) -> None:
        """Hide all columns of slots but the first `length` of each."""
        hidden = torch.arange(self.mask.shape[3], device=length.device) >= length[:, None]
        self.mask[new, 0, 0] = torch.zeros_like(self.mask[new, 0, 0]).masked_fill_(hidden, -torch.inf)

    def _read(self, prompts: Sequence[Sequence[int]], first: int) -> None:
        """Read prompts into the slots from `first` on."""
        ids, real = pad_rows(prompts, self.pad, self.module.device)
        new, width, length = slice(first, first + len(ids)), ids.shape[1], real.sum(1)
        stores = [
            (keys[new, :, :width], values[new, :, :width])
            for keys, values in zip(self.keys, self.values, strict=True)
        ]
        states = self.own.last_hidden(self.trunk, ids, (length - 1)[:, None], stores)[:, 0]
        if not len(self.ends):
            self.ends = states.new_zeros(len(self.row), states.shape[1])
        self.ends[new], self.length[new] = states, length
        self._show(new, length)
        self.held[new] = [tuple(prompt) for prompt in prompts]

    def step(self, ids: Tensor) -> Last:
        """Add one id to every row; the result is at the last tokens of all rows."""
        n = self.count
        # only a finished row that is not dropped yet can exceed the last column
        column = self.length[:n].clamp_max(self.columns - 1)
        self.length[:n] += 1
        self.used = min(self.used + 1, self.columns)
        self._grow(self.used)
        self.mask[self.row[:n], 0, 0, column] = 0
        keys, values = ([slots[:n] for slots in layers] for layers in (self.keys, self.values))
        return self._last(self.token_step(self.own, self.trunk, ids, column, keys, values, self.mask[:n]))

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order; rows that keep their place are not copied."""
        moved = (index != self.row[: len(index)]).nonzero()[:, 0]
        if len(moved):
            source = index[moved]
            for part in (*self.keys, *self.values, self.mask, self.length, self.ends):
                part[moved] = part[source]
            held = list(self.held)
            for number, origin in zip(moved.tolist(), source.tolist(), strict=True):
                self.held[number] = held[origin]
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
            for layers in (self.keys, self.values):
                for number, slots in enumerate(layers):  # one at a time: few are held twice
                    layers[number] = wider(slots, more)
            self.mask = F.pad(self.mask, (0, more), value=-torch.inf)
