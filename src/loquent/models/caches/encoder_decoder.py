"""The live rows of an encoder-decoder model or of its trunk, with a cache.

The encoder reads each different prompt once, when it joins, and long prompts in passes of at most `PREFILL`
padded tokens. Decoders count positions from the columns of
their cache, so rows that joined together form a cohort with a cache of its own, and no row has padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers.cache_utils import DynamicCache, EncoderDecoderCache

from loquent.models.caches.cache import Slab
from loquent.models.caches.last import Gives, Last
from loquent.models.caches.prompts import PREFILL
from loquent.pretrained import encoder_decoders, head, pad_rows


class Cohort:
    """Rows whose decoders have read equally many ids.

    `rows` holds their places among all live rows.
    """

    slab = Slab

    def __init__(self, module: Any, rows: Tensor, sources: list[list[int]], pad: int) -> None:
        self.module, self.rows = module, rows
        ids, real = pad_rows(sources, pad, module.device)
        self.memory, self.real = encoder_decoders.encode_sources(module, ids, real, PREFILL)
        self.cache = EncoderDecoderCache(*(DynamicCache(config=module.config) for _ in range(2)))
        self.slabs = [self.slab() for _ in self.cache.self_attention_cache.layers]
        self.cache.self_attention_cache.layers = [*self.slabs]

    @property
    def ordered(self) -> bool:
        """Whether these are the first of all live rows, in order."""
        return bool((self.rows == torch.arange(len(self.rows), device=self.rows.device)).all())

    def read(self, ids: Tensor) -> Tensor:
        """The last hidden states after new ids [n, new]."""
        mask = None
        if self.slabs[0].used:
            slab = self.slabs[0]
            if slab.used == slab.keys.shape[2]:
                for layer in self.slabs:
                    layer.grow()
            mask = self.mask(slab).expand(len(ids), -1, -1, -1)
        output = self.module.get_decoder()(
            input_ids=ids,
            attention_mask=mask,
            encoder_hidden_states=self.memory,
            encoder_attention_mask=self.real.long(),
            past_key_values=self.cache,
            use_cache=True,
        )
        states: Tensor = output.last_hidden_state[:, -1]
        return states

    def mask(self, slab: Slab) -> Tensor:
        """The columns of a slab with one new id: -inf where nothing is written, else 0."""
        mask = self.memory.new_zeros(1, 1, 1, slab.keys.shape[2])
        mask[..., slab.used + 1 :] = -torch.inf
        return mask

    def keep(self, local: Tensor, rows: Tensor) -> None:
        """Keep the rows at `local`, which now have the places `rows`."""
        self.rows = rows
        self.memory, self.real = self.memory[local], self.real[local]
        for slab in self.slabs:
            slab.keep(local, 0)
        self.cache.cross_attention_cache.batch_select_indices(local)


class Paired:
    """The live rows of an encoder-decoder, in cohorts."""

    cohort = Cohort

    def __init__(self, module: Any, pad: int, gives: Gives = "logits") -> None:
        self.module, self.pad, self.gives = module, pad, gives
        self.layer = None if gives == "states" else head(module)
        self.cohorts: list[Cohort] = []
        self.count = 0

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Read prompts in cohorts of their own."""
        split = [encoder_decoders.sides(prompt) for prompt in prompts]
        lengths = [len(first) for _, first in split]
        states: Any = None
        for length in sorted(set(lengths)):
            places = [i for i, number in enumerate(lengths) if number == length]
            rows = torch.tensor(places, device=self.module.device)
            cohort = self.cohort(self.module, self.count + rows, [split[i][0] for i in places], self.pad)
            read = cohort.read(torch.tensor([split[i][1] for i in places], device=self.module.device))
            states = read.new_empty(len(prompts), read.shape[1]) if states is None else states
            states[rows] = read
            self.cohorts.append(cohort)
        self.count += len(prompts)
        return self._last(states)

    def step(self, ids: Tensor) -> Last:
        """Add one id to every row; the result is at the last tokens of all rows."""
        if len(self.cohorts) == 1 and self.cohorts[0].ordered:
            return self._last(self.cohorts[0].read(ids[:, None]))
        read = [cohort.read(ids[cohort.rows][:, None]) for cohort in self.cohorts]
        states = read[0].new_empty(self.count, read[0].shape[1])
        for cohort, part in zip(self.cohorts, read, strict=True):
            states[cohort.rows] = part
        return self._last(states)

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order; a row may stay twice."""
        self.count, kept = len(index), []
        for cohort in self.cohorts:
            matches = cohort.rows[:, None] == index
            rows = matches.any(0).nonzero()[:, 0]
            if len(rows):
                cohort.keep(matches[:, rows].to(torch.uint8).argmax(0), rows)
                kept.append(cohort)
        self.cohorts = kept

    def _last(self, states: Tensor) -> Last:
        return Last(
            None if self.layer is None else self.layer(states), None if self.gives == "logits" else states
        )
