"""The network of QA-DQN: encoder, blocks, heads and pointer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from loquent.pretrained.learning.stopping import StopHead, apart
from loquent.pretrained.learning.turn_network import Head
from loquent.tasks.reading.network.blocks import Stack
from loquent.tasks.reading.network.heads import Heads, Scores
from loquent.tasks.reading.network.inputs import Batch, Inputs
from loquent.tasks.reading.network.pointer import Pointer
from loquent.tasks.reading.network.pretrained import Pretrained
from loquent.tasks.reading.network.settings import NetworkSettings
from loquent.tasks.reading.network.words import QANet


class Network(nn.Module):
    """Scores commands and queries of situations, and points at answers.

    Args:
        head: what the scores are.
    """

    def __init__(self, inputs: Inputs, head: Head) -> None:
        super().__init__()
        self.settings = settings = inputs.settings
        listed = inputs.listed is not None
        self.encoder = _encoder(inputs)
        self.blocks = _stack(settings)
        self.left = nn.Linear(1, settings.width) if settings.history else None
        words = inputs.slots if listed else len(inputs.lexicon.words) + 1
        self.heads = Heads(settings, inputs.plain + 1, words, listed=listed, head=head)
        self.stop = StopHead(settings.width) if head.stop else None
        own = settings.pointer == "stacks"
        self.pointer = Pointer(settings, [_stack(settings) for _ in range(2 * own)])

    def forward(self, batch: Batch) -> Scores:
        """The scores of commands and queries."""
        memory, question, words = self._states(batch)
        pooled = _pooled(memory, batch.real, self.settings.pool)
        if self.left is not None:
            pooled = pooled + self.left(batch.left[:, None])
        scores: Scores = self.heads(pooled, batch, memory, question, words)
        return scores if self.stop is None else replace(scores, goal=self.stop(pooled))

    def point(self, batch: Batch) -> tuple[Float[Tensor, "N L"], Float[Tensor, "N L"]]:
        """Log-probabilities of the first and of the last token of the answer."""
        return self.pointer(self._states(batch)[0], batch.real, self.blocks)

    def _states(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        memory, question, words = self.encoder(batch)
        return self.blocks(memory, batch.real), question, words


def values(scores: Scores, combine: str) -> Float[Tensor, "N B"]:
    """Q of every action: of the plain commands Q_command, of the searches Q_command + Q_query (eq. 5).

    B is A - 1 + C, in the order of the task's actions. With `combine` "mean", a search has half of the sum.
    Illegal searches have -inf.
    """
    search = scores.command[:, -1:] + scores.query
    return torch.cat([scores.command[:, :-1], search / 2 if combine == "mean" else search], 1)


def without_stop(
    scores: Float[Tensor, "N B"], stop: int | None, stopped: Bool[Tensor, " N"] | None = None
) -> Float[Tensor, "N B"]:
    """Scores with -inf for the actions that a stop head leaves out (`stopping.apart`); None: as they are."""
    return (
        scores if stop is None else scores.masked_fill(~apart(scores.isfinite(), stop, stopped), -torch.inf)
    )


def log_probabilities(scores: Scores) -> Float[Tensor, "N B"]:
    """log π of every action: log π(command), and for a search log π(search) + log π(query | search).

    Without a legal query the search has the probability 0.
    """
    possible = scores.query.isfinite().any(1, keepdim=True) if scores.query.shape[1] else None
    search = scores.command[:, -1:]
    search = torch.full_like(search, -torch.inf) if possible is None else search.where(possible, -torch.inf)
    command = torch.cat([scores.command[:, :-1], search], 1).log_softmax(1)
    if possible is None:
        return command[:, :-1]
    query = scores.query.where(possible, 0.0).log_softmax(1).where(possible, -torch.inf)
    return torch.cat([command[:, :-1], command[:, -1:] + query], 1)


def _stack(settings: NetworkSettings) -> Stack:
    return Stack(
        settings.width,
        blocks=settings.blocks,
        convolutions=settings.convolutions,
        window=settings.window,
        heads=settings.heads,
        dropout=settings.dropout,
        skip=settings.skip,
    )


def _encoder(inputs: Inputs) -> Any:
    if inputs.settings.encoder != "qanet":
        return Pretrained(inputs)
    return QANet(len(inputs.lexicon.letters), inputs.settings)


def _pooled(states: Tensor, real: Tensor, pool: str) -> Tensor:
    """One state from those of the real tokens."""
    if pool == "max":
        return states.masked_fill(~real[:, :, None], -torch.inf).amax(1)
    return (states * real[:, :, None]).sum(1) / real.sum(1)[:, None]
