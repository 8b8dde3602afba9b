"""The encoder of structured observations: attention over rows, such as objects, and over words."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from loquent.models.turns.inputs import Inputs
from loquent.models.turns.sentences import Block, Encoded, Reader, sentence_encoder, sentence_of

NAMED = 40  # a column of rows with at most so many different numbers is embedded; others are measured
ROW_BLOCKS = 1  # of attention among rows
WAVES = 5  # sine and cosine of a measured number x in [0, 1]: 2π x, 4π x, 8π x, ...


class Rows(nn.Module):
    """Attention over the rows of a view, such as objects, and over the words of a sentence.

    A row of zeros is absent. The order of the rows does not matter. Equal arrays of rows and equal sentences
    of a batch are encoded once: first the rows attend to each other, and the words to each other. Then a
    further state for each observation, which begins as the sentence and the numbers, attends `layers` times
    to its words and to its rows. Its last value is the result.
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
        self.none = nn.Parameter(torch.randn(width) * 0.1)  # a row that is always there
        self.numbers = nn.Linear(max(1, len(settings.numbers)), width)
        self.among = nn.ModuleList(Block(width, settings.heads) for _ in range(ROW_BLOCKS))
        self.blocks = nn.ModuleList(Reader(width, settings.heads) for _ in range(settings.layers))
        self.norm = nn.LayerNorm(width)
        self.shift: Tensor
        self.least: Tensor
        self.span: Tensor

    def forward(self, features: Mapping[str, Tensor]) -> Float[Tensor, "N d"]:
        """The state of each observation."""
        words, words_real, of_words = self.sentence(sentence_of(features))
        rows, rows_real, of_rows = self._encoded(features["rows"])
        state = words[:, 0].index_select(0, of_words)
        if "numbers" in features:
            state = state + self.numbers(features["numbers"])
        for block in self.blocks:
            state = block(state, (words, words_real, of_words), (rows, rows_real, of_rows))
        result: Tensor = self.norm(state)
        return result

    def _encoded(self, rows: Tensor) -> Encoded:
        """The states of the different arrays of rows, which are real, and the array of each observation."""
        different, index = _trimmed(rows).unique(dim=0, return_inverse=True)
        none = self.none.expand(len(different), 1, -1)
        states = torch.cat([none, self._rows(different)], 1)
        real = torch.cat([different.new_ones((len(different), 1)) != 0, (different != 0).any(2)], 1)
        for block in self.among:
            states = block(states, real)
        return states, real, index

    def _rows(self, rows: Tensor) -> Float[Tensor, "N R d"]:
        state = self.embedding(rows[..., self.named].long() + self.shift).sum(2)
        if self.measured:
            share = (rows[..., self.measured] - self.least) / self.span
            angles = [share * (2 * math.pi * 2**k) for k in range(WAVES)]
            waves = torch.cat([share, *(f(angle) for angle in angles for f in (torch.sin, torch.cos))], -1)
            state = state + self.measure(waves)
        return torch.as_tensor(state)


def _trimmed(rows: Tensor) -> Tensor:
    """The rows without those at the end that no observation has; at least one."""
    used = (rows != 0).any(2).any(0).nonzero()
    return rows[:, : int(used.max()) + 1 if len(used) else 1]
