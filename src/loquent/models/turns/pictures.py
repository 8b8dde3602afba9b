"""Encoders of images beside sentences: convolutions, and a transformer over words and patches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu

from loquent.models.turns.inputs import Inputs
from loquent.models.turns.sentences import Block, sentence_encoder, sentence_of

CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (32, 3, 1))  # channels, kernel, stride; the released code of lilGym


class Picture(nn.Module):
    """Three convolutions and a layer on an image, beside the vector of the sentence and the numbers.

    The policy and the value function have hidden layers of their own (`hidden`). With `features` of a frozen
    BERT, whose vector is read as it is, numbers: [target], width 512 and two layers this is C+BERT of lilGym.
    """

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        settings, space = inputs.settings, inputs.space
        assert space is not None
        width = settings.width
        channels, layers = space.shape[2], []
        for out, kernel, stride in CONVOLUTIONS:
            layers.append(nn.Conv2d(channels, out, kernel, stride))
            channels = out
        self.convolutions = nn.ModuleList(layers)
        with torch.no_grad():
            size = self._convolved(torch.zeros(1, *space.shape)).shape[1]
        self.image = nn.Linear(size, width)
        for layer in (*self.convolutions, self.image):
            nn.init.orthogonal_(layer.weight, nn.init.calculate_gain("relu"))
            nn.init.zeros_(layer.bias)
        frozen = inputs.featurizer
        self.sentence = sentence_encoder(inputs) if frozen is None else None
        self.numbers = nn.Embedding(2, 32) if settings.numbers else None
        sentence = width if frozen is None else frozen.dimension
        self.sizes = [width + sentence + 32 * len(settings.numbers), *[width] * settings.layers]
        self.width = self.sizes[0]

    def forward(self, features: Mapping[str, Tensor]) -> Float[Tensor, "N d"]:
        """The state of each observation."""
        parts = [relu(self.image(self._convolved(features["image"]))), self._sentence(features)]
        if self.numbers is not None:
            parts.append(self.numbers((features["numbers"] > 0).long()).flatten(1))
        return torch.cat(parts, 1)

    def hidden_layers(self) -> tuple[nn.Module, nn.Module, tuple[int, int]]:
        """The layers of the policy and of the value function behind the state, and their widths."""
        policy, value = (
            nn.Sequential(
                *(part for a, b in pairwise(self.sizes) for part in (nn.Linear(a, b), nn.LeakyReLU()))
            )
            for _ in range(2)
        )
        return policy, value, (self.sizes[-1], self.sizes[-1])

    def _sentence(self, features: Mapping[str, Tensor]) -> Float[Tensor, "N s"]:
        if self.sentence is None:
            return sentence_of(features)
        states, _, index = self.sentence(sentence_of(features))
        vectors: Tensor = states[:, 0].index_select(0, index)
        return vectors

    def _convolved(self, image: Tensor) -> Float[Tensor, "N s"]:
        state = image.permute(0, 3, 1, 2).float() / 255
        for layer in self.convolutions:
            state = relu(layer(state))
        return state.flatten(1)


class Patches(nn.Module):
    """A transformer over the words of a sentence and the patches of an image, together.

    With patches of 10 x 10 pixels of lilGym's half-size image, a patch is a cell of its grid: 5 x 19.
    """

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        settings, space, vocabulary = inputs.settings, inputs.space, inputs.vocabulary
        assert space is not None
        assert vocabulary is not None
        self.width, self.patch = settings.width, settings.patch
        height, wide = self.patch
        count = math.ceil(space.shape[0] / height) * math.ceil(space.shape[1] / wide)
        self.embedding = nn.Embedding(len(vocabulary), self.width, padding_idx=0)
        self.place = nn.Parameter(torch.randn(1 + settings.words + count, self.width) * 0.1)
        self.pixels = nn.Linear(height * wide * space.shape[2], self.width)
        self.numbers = nn.Linear(max(1, len(settings.numbers)), self.width)
        self.begin = nn.Parameter(torch.randn(self.width) * 0.1)
        self.blocks = nn.ModuleList(Block(self.width, settings.heads) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(self.width)

    def forward(self, features: Mapping[str, Tensor]) -> Float[Tensor, "N d"]:
        """The state of each observation: the last state of the begin mark."""
        words, cells = features["words"], self.pixels(patches(features["image"], self.patch))
        length = max(1, int((words > 0).sum(1).max()))
        real = words[:, :length] > 0
        begin = self.begin.expand(len(words), 1, -1)
        if "numbers" in features:
            begin = begin + self.numbers(features["numbers"])[:, None]
        sentence = self.embedding(words[:, :length]) + self.place[1 : length + 1]
        states = torch.cat([begin + self.place[0], sentence, cells + self.place[-cells.shape[1] :]], 1)
        ones = torch.ones((len(words), 1), dtype=torch.bool, device=words.device)
        real = torch.cat([ones, real, ones.expand(-1, cells.shape[1])], 1)
        for block in self.blocks:
            states = block(states, real)
        state: Tensor = self.norm(states[:, 0])
        return state


def patches(image: Tensor, size: tuple[int, ...]) -> Float[Tensor, "N P s"]:
    """The patches of images u8[N, H, W, C], row by row, in [0, 1]; the last ones are filled with zeros."""
    height, wide = size
    below, right = -image.shape[1] % height, -image.shape[2] % wide
    padded = nn.functional.pad(image.float() / 255, (0, 0, 0, right, 0, below))
    cut = padded.unflatten(2, (-1, wide)).unflatten(1, (-1, height))  # [N, rows, height, columns, wide, C]
    return cut.transpose(2, 3).flatten(3).flatten(1, 2)
