"""The encoder of structured observations: attention over rows, such as objects, and over words."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from loquent.models.turns.inputs import Inputs
from loquent.models.turns.sentences import Block, sentence_encoder, sentence_of

NAMED = 40  # a column of rows with at most so many different numbers is embedded; others are measured
WAVES = 5  # sine and cosine of a measured number x in [0, 1]: 2π x, 4π x, 8π x, ...


class Rows(nn.Module):
    """Attention over the rows of a view, such as objects, and over the words of a sentence.

    A row of zeros is absent. A further state, which begins as the sentence and the numbers, attends to all
    rows; its last value is the result. The order of the rows does not matter.
    """

    def __init__(self, inputs: Inputs) -> None:
        super().__init__()
        settings, space = inputs.settings, inputs.space
        assert space is not None
        self.width = width = settings.width
        low, high = (np.asarray(bound, dtype=np.float64) for bound in (space.low, space.high))
        least, most = low.min(0), high.max(0)
        self.named = [i for i in range(len(least)) if most[i] - least[i] < NAMED]
        self.measured = [i for i in range(len(least)) if i not in self.named]
        sizes = [int(most[i] - least[i]) + 1 for i in self.named]
        starts = np.cumsum([0, *sizes])
        self.embedding = nn.Embedding(max(1, int(starts[-1])), width)
        self.measure = nn.Linear(max(1, len(self.measured) * (1 + 2 * WAVES)), width)
        self.register_buffer("shift", torch.tensor(starts[:-1] - least[self.named]).long(), persistent=False)
        self.register_buffer("least", torch.tensor(least[self.measured]).float(), persistent=False)
        span = (most - least)[self.measured]
        self.register_buffer("span", torch.tensor(span).float(), persistent=False)
        self.sentence = sentence_encoder(inputs)
        self.numbers = nn.Linear(max(1, len(settings.numbers)), width)
        self.blocks = nn.ModuleList(
            Block(width, settings.heads, crosses=True) for _ in range(settings.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.shift: Tensor
        self.least: Tensor
        self.span: Tensor

    def forward(self, features: Mapping[str, Tensor]) -> Float[Tensor, "N d"]:
        """The state of each observation."""
        rows = features["rows"]
        present = (rows != 0).any(2)
        rows, present = _trimmed(rows, present)
        words, words_real, index = self.sentence(sentence_of(features))
        words, words_real = words[index], words_real[index]
        first = words[:, 0]
        if "numbers" in features:
            first = first + self.numbers(features["numbers"])
        states = torch.cat([first[:, None], self._rows(rows)], 1)
        real = torch.cat([torch.ones_like(present[:, :1]), present], 1)
        for block in self.blocks:
            states = block(states, real, words, words_real)
        state: Tensor = self.norm(states[:, 0])
        return state

    def _rows(self, rows: Tensor) -> Float[Tensor, "N R d"]:
        state = self.embedding(rows[..., self.named].long() + self.shift).sum(2)
        if self.measured:
            share = (rows[..., self.measured] - self.least) / self.span
            angles = [share * (2 * math.pi * 2**k) for k in range(WAVES)]
            waves = torch.cat([share, *(f(angle) for angle in angles for f in (torch.sin, torch.cos))], -1)
            state = state + self.measure(waves)
        return torch.as_tensor(state)


def _trimmed(rows: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
    """Rows and their presence, without the columns at the end in which no observation has a row."""
    used = present.any(0).nonzero()
    last = int(used.max()) + 1 if len(used) else 0
    return rows[:, :last], present[:, :last]
