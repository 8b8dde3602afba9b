"""The heads that score commands and the queries of a situation (arXiv:1908.10449 eq. 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from loquent.pretrained.learning.noisy import Noise, factors, linear
from loquent.pretrained.learning.turn_network import Head
from loquent.tasks.reading.network.inputs import Batch
from loquent.tasks.reading.network.settings import NetworkSettings


@dataclass(frozen=True, eq=False)
class Scores:
    """The scores of N situations: of the commands, of the queries (-inf for none), and a value.

    The value is zeros for a network without a critic. `goal` are the logits of P(the goal holds), with a stop
    head.
    """

    command: Float[Tensor, "N A"]
    query: Float[Tensor, "N C"]
    value: Float[Tensor, " N"]
    goal: Float[Tensor, " N"] | None = None


class Rows(Noise):
    """A row of weights and a bias for each word of the training rows; row 0 is that of all other words.

    Only the rows of the queries of a batch are read, and their gradient is sparse. With `sigma` the layer is
    noisy as `Noisy`, with noise for these rows alone.
    """

    def __init__(self, inputs: int, words: int, sigma: float | None, *, sparse: bool) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.sparse, self.inputs = sparse, inputs
        self.weight = nn.Parameter(torch.empty(words, inputs + 1).uniform_(-bound, bound))
        self.weight_sigma: nn.Parameter | None = None
        if sigma is not None:
            spread = torch.full((words, inputs + 1), sigma * bound)
            spread[:, -1] = sigma / math.sqrt(words)
            self.weight_sigma = nn.Parameter(spread)

    def forward(self, shared: Float[Tensor, "N h"], rows: Int[Tensor, "N C"] | None) -> Float[Tensor, "N C"]:
        """The scores of the words with these rows; None: of all words."""
        ones = shared.new_ones((len(shared), 1))
        scores = self._scores(self.weight, torch.cat([shared, ones], 1), rows)
        if self.weight_sigma is None or self.seed is None:
            return scores
        numbers = torch.arange(len(self.weight), device=shared.device) if rows is None else rows
        into, out = factors(self.seed, self.inputs, numbers)
        return scores + out * self._scores(self.weight_sigma, torch.cat([shared * into, ones], 1), rows)

    def _scores(self, weight: Tensor, state: Tensor, rows: Tensor | None) -> Tensor:
        if rows is None:
            return F.linear(state, weight)
        return torch.einsum("nch,nh->nc", F.embedding(rows, weight, sparse=self.sparse), state)


class States(nn.Module):
    """Scores a query by the state of its word, and the mean states of its places in question and memory."""

    def __init__(self, width: int, hidden: int, sigma: float | None) -> None:
        super().__init__()
        self.read = linear(3 * width, hidden, sigma)
        self.shared = linear(hidden, hidden, sigma)
        self.out = linear(hidden, 1, sigma)

    def forward(
        self,
        shared: Float[Tensor, "N h"],
        batch: Batch,
        memory: Float[Tensor, "N L d"],
        question: Float[Tensor, "N M d"],
        words: Float[Tensor, "N C d"],
    ) -> Float[Tensor, "N C"]:
        """The scores of the batch's queries."""
        places = [words]
        for numbers, states in ((batch.question, question), (batch.memory, memory)):
            own = (batch.queries[:, :, None] == numbers[:, None]).to(states.dtype)
            places.append(own @ states / own.sum(2, keepdim=True).clamp(min=1))
        hidden = self.read(torch.cat(places, 2)) + self.shared(shared)[:, None]
        result: Tensor = self.out(hidden.relu())[:, :, 0]
        return result


class Heads(nn.Module):
    """A shared layer with ReLU, the head of commands, the head of queries, and a critic where asked for.

    A dueling head adds a value to advantages whose mean over the legal entries is 0.

    Args:
        commands: A, the search included.
        words: rows of the query head. listed: whether its queries are all words of a fixed list.
    """

    def __init__(
        self, settings: NetworkSettings, commands: int, words: int, *, listed: bool, head: Head
    ) -> None:
        super().__init__()
        sigma, hidden = head.sigma, settings.hidden
        self.shared = linear(settings.width, hidden, sigma)
        self.command = linear(hidden, commands, sigma)
        self.by_rows, self.listed = settings.queries == "rows", listed
        self.query: nn.Module
        if self.by_rows:
            self.query = Rows(hidden, words, sigma, sparse=not listed)
        else:
            self.query = States(settings.width, hidden, sigma)
        self.values = nn.ModuleList(linear(hidden, 1, sigma) for _ in range(2 * head.dueling))
        self.critic = nn.Linear(hidden, 1) if head.critic else None

    def forward(
        self,
        pooled: Float[Tensor, "N d"],
        batch: Batch,
        memory: Float[Tensor, "N L d"],
        question: Float[Tensor, "N M d"],
        words: Float[Tensor, "N C d"],
    ) -> Scores:
        """The scores of situations whose memory is summed up in `pooled`."""
        shared = self.shared(pooled).relu()
        command, legal = self.command(shared), batch.queries > 0
        if self.listed:
            query = self.query(shared, None)
            legal = torch.ones_like(query, dtype=torch.bool)
        elif self.by_rows:
            query = self.query(shared, batch.rows[batch.queries])
        else:
            query = self.query(shared, batch, memory, question, words)
        if self.values:
            command = command - command.mean(1, keepdim=True) + self.values[0](shared)
            count = legal.sum(1, keepdim=True).clamp(min=1)
            query = query - (query * legal).sum(1, keepdim=True) / count + self.values[1](shared)
        value = shared.new_zeros(len(shared)) if self.critic is None else self.critic(shared)[:, 0]
        return Scores(command, query.masked_fill(~legal, -torch.inf), value)
