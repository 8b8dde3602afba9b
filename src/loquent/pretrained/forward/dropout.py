"""Dropout (JMLR 15:1929, 2014) of our own forward passes, from keyed random streams.

Inside `dropping(key)` the masks are drawn from the key's stream, in the order in which the passes need them.
The global generators of torch are not used. Outside, our forward passes serve no model that drops units.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor, nn

from loquent.core.seeding import Key

LEVELS = 1 << 16  # a unit is dropped by 16 random bits; a rate is rounded to a multiple of 1 / LEVELS


class _Stream:
    """The generators of a key, one for each device."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.generators: dict[torch.device, torch.Generator] = {}

    def generator(self, device: torch.device) -> torch.Generator:
        """The generator of a device, at its present place in the stream."""
        if device not in self.generators:
            self.generators[device] = torch.Generator(device).manual_seed(self.key.integer())
        return self.generators[device]


_stream: ContextVar[_Stream | None] = ContextVar("dropout", default=None)


@contextmanager
def dropping(key: Key) -> Iterator[None]:
    """Inside the context our forward passes drop units by the key's random stream."""
    token = _stream.set(_Stream(key))
    try:
        yield
    finally:
        _stream.reset(token)


def is_keyed() -> bool:
    """Whether a stream for dropout is set."""
    return _stream.get() is not None


def may_drop(part: nn.Module, rate: float, *, own: bool) -> bool:
    """Whether our passes can compute a part that drops at a rate in training mode.

    They can if nothing is dropped now, or if the part is one of their `own` places and a stream is set.
    """
    return not (part.training and rate > 0) or (own and is_keyed())


def dropout_mask(shape: Sequence[int], rate: float, like: Tensor) -> tuple[Tensor, float]:
    """A mask of 0 and 1 in the type of `like`, and the factor 1 / (1 - rate) of kept units."""
    stream = _stream.get()
    assert stream is not None  # callers have asked `is_keyed`
    count = torch.Size(shape).numel()
    words = torch.empty(-(-count // 4), dtype=torch.int64, device=like.device)
    bits = words.random_(-(2**63), None, generator=stream.generator(like.device)).view(torch.int16)
    dropped = round(rate * LEVELS)
    mask = like.new_empty(tuple(shape))
    torch.ge(bits[:count].view(tuple(shape)), dropped - LEVELS // 2, out=mask)
    return mask, LEVELS / (LEVELS - dropped)


def drop(states: Tensor, rate: float) -> Tensor:
    """The states with units dropped and the others scaled; the states themselves at rate 0."""
    if not rate:
        return states
    mask, factor = dropout_mask(states.shape, rate, states)
    return states * mask.mul_(factor)


def add_dropped(hidden: Tensor, states: Tensor, rate: float) -> Tensor:
    """The sum of `hidden` and `drop(states, rate)`."""
    if not rate:
        return hidden + states
    mask, factor = dropout_mask(states.shape, rate, states)
    return torch.addcmul(hidden, states, mask, value=factor)


def attend(
    query: Tensor, keys: Tensor, values: Tensor, scale: float, rate: float, visible: Tensor | None
) -> Tensor:
    """Attention [B, heads, A, width] whose weights are dropped.

    Args:
        query: [B, heads, A, width]; keys and values may have fewer heads, each for several adjacent ones.
        visible: which keys each query may read, bool, as [B, 1, A, T]; None: a causal mask.
    """
    if query.shape[1] != keys.shape[1]:
        shared = query.shape[1] // keys.shape[1]
        keys, values = keys.repeat_interleave(shared, 1), values.repeat_interleave(shared, 1)
    weights = torch.matmul(query * scale, keys.transpose(2, 3))
    if visible is None:
        wide = weights.shape[-1]
        weights += torch.full((wide, wide), -torch.inf, dtype=weights.dtype, device=weights.device).triu_(1)
    else:
        weights.masked_fill_(~visible, -torch.inf)
    weights = weights.softmax(-1)
    mask, factor = dropout_mask(weights.shape, rate, weights)
    return torch.matmul(weights * mask, values) * factor
