"""States of words out of their characters and their fixed vectors, and the encoder of question and memory."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from loquent.tasks.reading.network.blocks import CrossAttention, Highway, Stack
from loquent.tasks.reading.network.inputs import Batch
from loquent.tasks.reading.network.lexicon import PAD
from loquent.tasks.reading.network.settings import NetworkSettings

WINDOW = 5  # characters that the convolution reads


class Words(nn.Module):
    """The state of each different word of a batch; places share it, because it does not depend on them.

    Characters: convolution, ReLU, maximum over places. They and the word's vector go through a linear layer
    and a highway network.
    """

    def __init__(self, letters: int, settings: NetworkSettings) -> None:
        super().__init__()
        width, self.dropout = settings.width, settings.dropout
        self.letters = nn.Embedding(letters + 2, settings.character_size, padding_idx=PAD)
        nn.init.uniform_(self.letters.weight, -0.05, 0.05)
        with torch.no_grad():
            self.letters.weight[PAD] = 0.0
        self.windows = nn.Conv1d(settings.character_size, width, WINDOW, padding=WINDOW // 2)
        nn.init.kaiming_normal_(self.windows.weight, nonlinearity="relu")
        self.merge = nn.Linear(width + settings.word_size, width, bias=False)
        self.highway = Highway(width, settings.dropout)

    def forward(self, batch: Batch) -> Float[Tensor, "U d"]:
        """The states; the first one, of padding, is zeros."""
        real = batch.characters != PAD
        length = max(1, int(real.any(0).sum()))
        letters = F.dropout(self.letters(batch.characters[:, :length]), self.dropout, self.training)
        read = self.windows(letters.transpose(1, 2)) * real[:, None, :length]
        spelled = read.relu().amax(2)
        vectors = F.dropout(batch.vectors, self.dropout, self.training)
        states = self.highway(self.merge(torch.cat([spelled, vectors], 1)))
        result: Tensor = states * (batch.numbers > 0)[:, None]
        return result


class QANet(nn.Module):
    """The paper's encoder: words, one stack for question and memory, attention between them.

    With `matches`, a learned vector is added to each token of the memory that occurs in the question; with
    `history`, to each token of the question, and to each query, that was searched for.
    """

    def __init__(self, letters: int, settings: NetworkSettings) -> None:
        super().__init__()
        self.words = Words(letters, settings)
        self.stack = Stack(
            settings.width,
            blocks=settings.encoder_blocks,
            convolutions=settings.encoder_convolutions,
            window=settings.encoder_window,
            heads=settings.heads,
            dropout=settings.dropout,
            skip=settings.skip,
        )
        self.attention = CrossAttention(settings.width, settings.dropout)
        self.match = nn.Parameter(torch.randn(settings.width) * 0.1) if settings.matches else None
        self.done = nn.Parameter(torch.randn(settings.width) * 0.1) if settings.history else None

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """States of the memory f[N, L, d], of the question f[N, M, d], and of the queries f[N, C, d]."""
        words, real, asked = self.words(batch), batch.real, batch.question_mask
        memory, question = words[batch.memory], words[batch.question]
        if self.match is not None:
            same = (batch.memory[:, :, None] == batch.question[:, None]).any(2) & (batch.memory > 0)
            memory = memory + same[:, :, None] * self.match
        queries = words[batch.queries]
        if self.done is not None:
            question = question + _searched(batch.question, batch) * self.done
            queries = queries + _searched(batch.queries, batch) * self.done
        question = self.stack(question, asked)
        return self.attention(self.stack(memory, real), question, real, asked), question, queries


def _searched(numbers: Int[Tensor, "N T"], batch: Batch) -> Bool[Tensor, "N T 1"]:
    """Whether a word was searched for."""
    return ((numbers[:, :, None] == batch.searched[:, None]).any(2) & (numbers > 0))[:, :, None]
