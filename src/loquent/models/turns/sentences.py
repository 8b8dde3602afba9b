"""Encoders of sentences that learn with the policy, and the layers that attend to their words."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu, scaled_dot_product_attention

from loquent.models.turns.inputs import Inputs


class Attention(nn.Module):
    """Attention with several heads of queries [N, Q, d] to keys [N, K, d], without dropout."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(
        self, queries: Float[Tensor, "N Q d"], keys: Float[Tensor, "N K d"], real: Bool[Tensor, "N K"]
    ) -> Float[Tensor, "N Q d"]:
        """The mixture of values; each row needs at least one real key."""
        q, k, v = (self._split(part) for part in (self.query(queries), self.key(keys), self.value(keys)))
        mixed = scaled_dot_product_attention(q, k, v, attn_mask=real[:, None, None, :])
        joined: Tensor = self.out(mixed.transpose(1, 2).flatten(2))
        return joined

    def _split(self, states: Float[Tensor, "N K d"]) -> Float[Tensor, "N h K e"]:
        return states.unflatten(2, (self.heads, -1)).transpose(1, 2)


class Block(nn.Module):
    """A transformer block (arXiv:1706.03762, with norms first): attention to the own states, then to words.

    Without `crosses` there is no attention to words.
    """

    def __init__(self, width: int, heads: int, *, crosses: bool) -> None:
        super().__init__()
        self.own_norm, self.own = nn.LayerNorm(width), Attention(width, heads)
        self.cross_norm = nn.LayerNorm(width) if crosses else None
        self.cross = Attention(width, heads) if crosses else None
        self.last_norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(
        self,
        states: Float[Tensor, "N R d"],
        real: Bool[Tensor, "N R"],
        words: Float[Tensor, "N L d"] | None = None,
        words_real: Bool[Tensor, "N L"] | None = None,
    ) -> Float[Tensor, "N R d"]:
        """The next states."""
        normed = self.own_norm(states)
        states = states + self.own(normed, normed, real)
        if self.cross is not None and self.cross_norm is not None:
            assert words is not None
            assert words_real is not None
            states = states + self.cross(self.cross_norm(states), words, words_real)
        result: Tensor = states + self.down(gelu(self.up(self.last_norm(states))))
        return result


class Words(nn.Module):
    """A transformer over the words of sentences; equal sentences of a batch are encoded once.

    The first state, of a begin mark, stands for the sentence.
    """

    def __init__(self, vocabulary: int, length: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.place = nn.Parameter(torch.randn(length + 1, width) * 0.1)
        self.begin = nn.Parameter(torch.randn(width) * 0.1)
        self.blocks = nn.ModuleList(Block(width, heads, crosses=False) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(
        self, words: Int[Tensor, "N L"]
    ) -> tuple[Float[Tensor, "U l d"], Bool[Tensor, "U l"], Int[Tensor, " N"]]:
        """The states of the different sentences, which are real, and the sentence of each row."""
        different, index = words.unique(dim=0, return_inverse=True)
        length = max(1, int((different > 0).sum(1).max()))
        different = different[:, :length]
        states = self.embedding(different) + self.place[1 : length + 1]
        begin = (self.begin + self.place[0]).expand(len(states), 1, -1)
        states = torch.cat([begin, states], 1)
        real = torch.cat([torch.ones_like(different[:, :1], dtype=torch.bool), different > 0], 1)
        for block in self.blocks:
            states = block(states, real)
        return self.norm(states), real, index


class Frozen(nn.Module):
    """Vectors of sentences that do not learn, as the only state of each sentence."""

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.layer = nn.Linear(size, width)

    def forward(
        self, sentence: Float[Tensor, "N s"]
    ) -> tuple[Float[Tensor, "N 1 d"], Bool[Tensor, "N 1"], Int[Tensor, " N"]]:
        """The vectors in the width of the network; shapes as of `Words`."""
        real = torch.ones((len(sentence), 1), dtype=torch.bool, device=sentence.device)
        states: Tensor = self.layer(sentence)[:, None]
        return states, real, torch.arange(len(sentence), device=sentence.device)


def sentence_encoder(inputs: Inputs) -> nn.Module:
    """The encoder of sentences: words that are encoded here, or the vectors of a featurizer."""
    settings = inputs.settings
    if inputs.featurizer is not None:
        return Frozen(inputs.featurizer.dimension, settings.width)
    assert inputs.vocabulary is not None
    heads = settings.heads if settings.width % settings.heads == 0 else 1
    return Words(len(inputs.vocabulary), settings.words, settings.width, settings.layers, heads)


def sentence_of(features: Mapping[str, Tensor]) -> Tensor:
    """The array that the encoder of sentences reads."""
    return features["words"] if "words" in features else features["sentence"]
