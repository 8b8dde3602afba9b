"""Encoders of sentences that learn with the policy, and the layers that attend to their words."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import gelu

from loquent.models.turns.inputs import Inputs
from loquent.pretrained.attention import Attention

WINDOW = 3  # words of one convolution
# states [U, K, d] of U different inputs, which of them are real [U, K], and the input of each observation [N]
Encoded = tuple[Tensor, Tensor, Tensor]


class Block(nn.Module):
    """A transformer block of states that attend to each other (arXiv:1706.03762, with norms first)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.last_norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, states: Float[Tensor, "N R d"], real: Bool[Tensor, "N R"]) -> Float[Tensor, "N R d"]:
        """The next states."""
        normed = self.norm(states)
        states = states + self.attention(normed, normed, real[:, None, None])
        result: Tensor = states + self.down(gelu(self.up(self.last_norm(states))))
        return result


class Reader(nn.Module):
    """A block of one state per observation, which attends to the words and the rows that it refers to."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.words, self.rows = Attention(width, heads), Attention(width, heads)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, state: Float[Tensor, "N d"], words: Encoded, rows: Encoded) -> Float[Tensor, "N d"]:
        """The next state."""
        state = state + self.words.read(self.norms[0](state), *words)
        state = state + self.rows.read(self.norms[1](state), *rows)
        result: Tensor = state + self.down(gelu(self.up(self.norms[2](state))))
        return result


class Words(nn.Module):
    """Residual convolutions over the words of sentences, then one block of attention among the words.

    Equal sentences of a batch are encoded once. The first state, which begins as the mean of the words'
    states, stands for the sentence.
    """

    def __init__(self, vocabulary: int, length: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width, padding_idx=0)
        self.place = nn.Parameter(torch.randn(length, width) * 0.1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.windows = nn.ModuleList(nn.Conv1d(width, width, WINDOW, padding=WINDOW // 2) for _ in self.norms)
        self.among = Block(width, heads)
        self.norm = nn.LayerNorm(width)

    def forward(
        self, words: Int[Tensor, "N L"]
    ) -> tuple[Float[Tensor, "U l d"], Bool[Tensor, "U l"], Int[Tensor, " N"]]:
        """The states of the different sentences, which are real, and the sentence of each row."""
        length = max(1, int((words > 0).sum(1).max()))
        different, index = words[:, :length].unique(dim=0, return_inverse=True)
        real = different > 0
        inside = real[:, :, None]
        states = (self.embedding(different) + self.place[:length]) * inside
        for norm, window in zip(self.norms, self.windows, strict=True):
            near = window((norm(states) * inside).transpose(1, 2)).transpose(1, 2)
            states = states + gelu(near) * inside
        mean = states.sum(1, keepdim=True) / real.sum(1)[:, None, None].clamp(min=1)
        real = torch.cat([real.new_ones(mean.shape[:2]), real], 1)
        return self.norm(self.among(torch.cat([mean, states], 1), real)), real, index


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
