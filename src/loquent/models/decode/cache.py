"""Rows of a causal model, or of its trunk, under way: prompts join, all rows step together, finished rows
leave.

`Cached` keeps keys and values in slabs that grow by blocks, so a step copies nothing (the library's own layer
copies all of them at every step), and attends with two products over the slab where the model would use
torch's fused attention, which is slow for single queries. `Uncached` reads every row again at each step:
slow, and right for every causal model. `rows_of` picks the first where the model's configuration allows it
and a comparison shows that it gives what the model gives without a cache.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.cache_utils import DynamicCache, DynamicLayer
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from loquent.models.decode.last import Gives, Last
from loquent.models.decode.slots import Slots
from loquent.pretrained import context, gpt2, head, hidden, padded

ATTENTION = "loquent_single_query"  # our name among the library's attention functions
BLOCK = 32  # columns a slab grows by

_shown: weakref.WeakKeyDictionary[nn.Module, str] = (
    weakref.WeakKeyDictionary()
)  # by which configuration a cache was shown to serve


@runtime_checkable
class Rows(Protocol):
    """What a decoding loop asks of a model."""

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Add rows at the end; what stands at the end of the new rows."""
        ...

    def step(self, ids: Tensor) -> Last:
        """Add one id to every row; what stands at the end of all rows."""
        ...

    def keep(self, index: Tensor) -> None:
        """Keep only the rows at `index`, in that order."""
        ...


class Slab(DynamicLayer):  # type: ignore[misc]  # transformers has no types
    """Keys and values of one layer, [rows, heads, capacity, width], of which the first `used` columns are
    written.

    After the first pass `update` gives whole slabs, so nothing is copied and they stay contiguous; the mask
    hides unwritten columns.
    """

    keys: Tensor
    values: Tensor
    used = 0

    def update(
        self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any
    ) -> tuple[Tensor, Tensor]:
        """Write the new columns behind the old ones; there must be room for them."""
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
        """How many columns are written."""
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

    def merge(self, other: Slab) -> None:
        """Put another slab's rows under these; both end at the same column, zeros stand on the left."""
        wide = max(self.used, other.used)
        self.keys, self.values = (
            torch.cat(
                [
                    nn.functional.pad(slab[:, :, :used], (0, 0, wide - used, BLOCK))
                    for slab, used in ((mine, self.used), (its, other.used))
                ]
            )
            for mine, its in ((self.keys, other.keys), (self.values, other.values))
        )
        self.used = wide


class Cached:
    """Rows padded on the left, with explicit positions, over one cache of slabs."""

    def __init__(self, module: Any, pad: int, gives: Gives = "logits") -> None:
        self.module, self.pad, self.last, self.gives = module, pad, context(module) - 1, gives
        self.layers: list[Slab] = []
        self.cache: Any = None
        self.hidden = self.length = torch.empty(
            0
        )  # [rows, 1, 1, capacity]: -inf at columns not to be seen; i64[rows]
        self.keeps_logits = (
            {"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(module.forward).parameters else {}
        )

    def join(self, prompts: Sequence[Sequence[int]]) -> Last:
        """Read prompts in one pass beside the rows under way, then put them under these."""
        ids, real = padded(prompts, self.pad, self.module.device, left=True)
        cache = DynamicCache(config=self.module.config)
        slabs = [Slab() for _ in cache.layers]
        cache.layers = [*slabs]
        found = self._forward(ids, real.long(), (real.cumsum(1) - 1).clamp_min(0), cache)
        length = real.sum(1)
        hidden = torch.zeros(len(ids), 1, 1, ids.shape[1], dtype=self.module.dtype, device=ids.device)
        hidden.masked_fill_(~real[:, None, None], -torch.inf)
        if not len(self.length):
            self.cache, self.layers, self.length = cache, slabs, length
            self.hidden = nn.functional.pad(hidden, (0, BLOCK), value=-torch.inf)
            return found
        used = self.layers[0].used
        for layer, other in zip(self.layers, slabs, strict=True):
            layer.merge(other)
        wide = self.layers[0].used
        both = [
            nn.functional.pad(part, (wide - part.shape[3], BLOCK), value=-torch.inf)
            for part in (self.hidden[..., :used], hidden)
        ]
        self.hidden, self.length = torch.cat(both), torch.cat([self.length, length])
        return found

    def step(self, ids: Tensor) -> Last:
        """One forward pass over one new column."""
        if self.layers[0].used == self.hidden.shape[3]:
            self.hidden = nn.functional.pad(self.hidden, (0, BLOCK), value=-torch.inf)
            for layer in self.layers:
                layer.grow()
        self.hidden[..., self.layers[0].used] = 0
        positions = self.length.clamp_max(self.last)[
            :, None
        ]  # only a finished row that was not yet dropped can pass the last
        self.length = self.length + 1
        return self._forward(ids[:, None], self.hidden, positions, self.cache)

    def keep(self, index: Tensor) -> None:
        """Drop rows, and the columns in which only they had tokens."""
        self.hidden, self.length = self.hidden[index], self.length[index]
        first = int((self.hidden == 0).flatten(1).any(0).to(torch.uint8).argmax()) if len(index) else 0
        self.hidden = self.hidden[..., first:]
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
            return Last(self.module(**inputs, use_cache=True, **self.keeps_logits).logits[:, -1], None)
        found = self.module(**inputs, use_cache=True, output_hidden_states=True, **self.keeps_logits)
        return Last(found.logits[:, -1], found.hidden_states[-1][:, -1])


class Uncached:
    """Rows as lists of ids, padded on the right and read whole at every step."""

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
        """Drop rows."""
        self.rows = [self.rows[i] for i in index.tolist()]

    def _read(self, rows: list[list[int]]) -> Last:
        ids, real = padded(rows, self.pad, self.module.device)
        last, row = real.sum(1) - 1, torch.arange(len(rows), device=ids.device)
        layer = None if self.gives == "states" else head(self.module)
        states = hidden(self.module, ids)[row, last] if self.gives != "logits" or layer is not None else None
        if self.gives == "states":
            return Last(None, states)
        if layer is not None and states is not None:
            return Last(layer(states), states if self.gives == "both" else None)
        return Last(
            self.module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits[
                row, last
            ],
            states,
        )


@contextmanager
def quick_steps(*modules: Any) -> Iterator[None]:
    """Let models that use torch's fused attention and may have a cache use ours for single queries inside.

    Their setting is given back.
    """
    fused = [
        module
        for module in modules
        # a private name of transformers >= 5, < 6, the only one; tests/test_private_names.py checks it
        if getattr(module.config, "_attn_implementation", None) == "sdpa" and _may_serve(module)
    ]
    for module in fused:
        module.set_attn_implementation(ATTENTION)
    try:
        yield
    finally:
        for module in fused:
            module.set_attn_implementation("sdpa")


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, None]:
    """softmax(q k / sqrt(d) + mask) v for one query per row, heads that share keys taken together.

    Anything else goes to torch.
    """
    if (
        query.shape[2] != 1
        or attention_mask is None
        or attention_mask.dtype != query.dtype
        or options.get("position_bias") is not None
    ):
        return sdpa_attention_forward(module, query, key, value, attention_mask, **options)  # type: ignore[no-any-return]  # transformers has no types
    rows, heads, _, width = query.shape
    scale = options.get("scaling")
    grouped = query.reshape(rows, key.shape[1], -1, width) * (width**-0.5 if scale is None else scale)
    weights = (torch.matmul(grouped, key.transpose(2, 3)) + attention_mask).softmax(-1)
    return torch.matmul(weights, value).reshape(rows, 1, heads, value.shape[3]), None


AttentionInterface.register(ATTENTION, _attention)
AttentionMaskInterface.register(ATTENTION, sdpa_mask)


def rows_of(module: Any, pad: int, rows: int, columns: int, gives: Gives = "logits") -> Rows:
    """Rows for this model: slots where it is GPT-2-shaped, else a cache where the model serves one truly,
    else without.

    Args:
        module: a causal model, or (gives "states") the trunk of one.
        rows: the most rows that are ever under way at once.
        columns: the longest row, in tokens that are read.
    """
    if gpt2.serves(module):
        return Slots(module, pad, rows, columns, gives)
    return Cached(module, pad, gives) if serves(module, gives) else Uncached(module, pad, gives)


def serves(module: Any, gives: Gives = "logits") -> bool:
    """Whether the model takes our cache, left padding and explicit positions.

    Its signature and configuration must allow it, and a comparison with plain passes must show it: the cache
    must be ten times nearer to them than with wrong positions, and than with padding that is seen. That is
    kept for this configuration. Where the wrong ways are no further off (a fresh model may look at neither),
    what is equal up to rounding serves for now, and is compared again at the next call.
    """
    if not _may_serve(module):
        return False
    config = module.config.to_json_string(use_diff=False)
    if _shown.get(module) == config:
        return True
    gives = "states" if gives == "states" else "logits"
    with torch.no_grad():
        plain, ours = (_probed(kind(module, 0, gives)) for kind in (Uncached, Cached))
        if plain is None or ours is None:
            return False
        error = _apart(ours, plain)
        if not error <= (1e-3 if plain.dtype in (torch.float32, torch.float64) else 5e-2):
            return False
        wrong = [_probed(kind(module, 0, gives)) for kind in (_Displaced, _Unmasked)]
    if all(found is None or _apart(found, plain) > 10 * error for found in wrong):
        _shown[module] = config
        return True
    return error <= 100 * torch.finfo(plain.dtype).eps


def _may_serve(module: Any) -> bool:
    wanted = {"position_ids", "past_key_values", "attention_mask", "use_cache"}
    if not wanted <= inspect.signature(module.forward).parameters.keys():
        return False
    layers = DynamicCache(config=module.config).layers
    return bool(layers) and all(
        type(layer) is DynamicLayer for layer in layers
    )  # no sliding windows, no states of recurrent layers


class _Displaced(Cached):
    """What a model would give that is told wrong positions: 0 for every token."""

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any) -> Last:
        return super()._forward(ids, mask, torch.zeros_like(positions), cache)


class _Unmasked(Cached):
    """What a model would give that sees padding."""

    def _forward(self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any) -> Last:
        seen = torch.ones_like(mask) if mask.dim() == 2 else torch.zeros_like(mask)
        return super()._forward(ids, seen, positions, cache)


def _probed(rows: Rows) -> Tensor | None:
    """The last of three passes in which rows join, leave and step; None where the model refuses."""
    module: Any = rows.module  # type: ignore[attr-defined]  # transformers has no types
    vocabulary = module.get_input_embeddings().weight.shape[0]
    prompts = [[i % vocabulary for i in ids] for ids in ([1, 2, 3, 4], [5, 6], [7])]
    try:
        rows.join(prompts[:2])
        rows.join(prompts[2:])
        rows.keep(torch.tensor([2, 1], device=module.device))
        found = rows.step(torch.tensor([8 % vocabulary, 9 % vocabulary], device=module.device))
    except Exception:  # a model's own code may raise anything when its cache is of another kind
        return None
    return found.states if found.logits is None else found.logits


def _apart(one: Tensor, other: Tensor) -> float:
    return float((one - other).abs().max() / other.abs().max())
