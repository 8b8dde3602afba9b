"""Attention with several heads (arXiv:1706.03762), of which networks that are made here consist."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class Attention(nn.Module):
    """Attention with several heads of queries [N, Q, d] to keys [N, K, d], without dropout."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(
        self, queries: Float[Tensor, "N Q d"], keys: Float[Tensor, "N K d"], mask: Tensor | None = None
    ) -> Float[Tensor, "N Q d"]:
        """The mixture of values.

        Args:
            mask: of a shape that broadcasts to [N, heads, Q, K]: which keys a query attends to, at least one,
                or numbers that are added to the scores.
        """
        q, k, v = (self._split(part) for part in (self.query(queries), self.key(keys), self.value(keys)))
        mixed = scaled_dot_product_attention(q, k, v, attn_mask=mask)
        joined: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return joined

    def read(
        self,
        queries: Float[Tensor, "N d"],
        keys: Float[Tensor, "U K d"],
        real: Bool[Tensor, "U K"],
        index: Int[Tensor, " N"],
    ) -> Float[Tensor, "N d"]:
        """The mixture for one query each; query i attends to the keys of number `index[i]`."""
        q = self.query(queries).unflatten(1, (self.heads, 1, -1))
        # index_select, because the backward pass of indexing takes several times as long
        k, v = (self._split(part.index_select(0, index)) for part in (self.key(keys), self.value(keys)))
        real = real.index_select(0, index)[:, None, None, :]
        mixed = scaled_dot_product_attention(q, k, v, attn_mask=real)
        joined: Tensor = self.out(mixed.flatten(1))
        return joined

    def _split(self, states: Float[Tensor, "N K d"]) -> Float[Tensor, "N h K e"]:
        return states.unflatten(2, (self.heads, -1)).transpose(1, 2)


def recent(length: int, heads: int) -> Float[Tensor, "h T T"]:
    """Numbers for scores so that a token attends to those up to itself, and to near ones more.

    They are the linear biases of arXiv:2108.12409: -m · distance with the slope m = 2^(-8 k / heads) of head
    k = 1, 2, ...; -inf for later tokens.
    """
    places = torch.arange(length)
    distance = (places[:, None] - places).float()
    slopes = torch.tensor([2.0 ** (-8 * k / heads) for k in range(1, heads + 1)])
    return (-slopes[:, None, None] * distance).masked_fill(distance < 0, -torch.inf)
