"""QA-DQN's acting and learning in the way of iMRC's released agent, written anew from its description.

Follows the notes on iMRC, §4 (network, masks, noise), §5 (the loop, its replay) and §9 (the list of costs).

Every game of a batch is encoded until the last one has ended. Python loops turn texts into numbers, letters
and masks over the whole vocabulary, at every act. The query head scores every word, and its noise is drawn
and multiplied out for all its weights. A word is spelled again at each of its places. Defects in arithmetic
are left out: layers, targets and losses are ours, so both sides can be compared. Kinder than the original:
noise is drawn once an act, and no transition is searched for its end.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from loquent.pretrained.learning.noisy import Noisy
from loquent.tasks.reading.network.heads import Rows
from loquent.tasks.reading.network.inputs import Batch
from loquent.tasks.reading.network.lexicon import LONGEST, UNKNOWN


class Situation(NamedTuple):
    """What the agent keeps of an observation, as strings; the sentences of the memory are joined."""

    question: str
    memory: str
    queries: tuple[str, ...]


class Transition(NamedTuple):
    """A step of an episode; `query` is the word of a search."""

    situation: Situation
    command: int
    query: str
    reward: float
    following: Situation
    ended: bool


class Dense(nn.Module):
    """A noisy linear layer that keeps the noise of each weight."""

    def __init__(self, weight: Tensor, bias: Tensor, weight_sigma: Tensor, bias_sigma: Tensor) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(weight.clone()), nn.Parameter(bias.clone())
        self.weight_sigma, self.bias_sigma = (
            nn.Parameter(weight_sigma.clone()),
            nn.Parameter(bias_sigma.clone()),
        )
        self.register_buffer("weight_noise", torch.zeros_like(weight))
        self.register_buffer("bias_noise", torch.zeros_like(bias))

    @classmethod
    def of(cls, layer: Noisy | Rows) -> Dense:
        """The layer with the weights of ours."""
        weight, sigma = layer.weight.detach(), layer.weight_sigma
        assert sigma is not None
        if isinstance(layer, Noisy):
            return cls(weight, layer.bias.detach(), sigma.detach(), layer.bias_sigma.detach())
        return cls(weight[:, :-1], weight[:, -1], sigma.detach()[:, :-1], sigma.detach()[:, -1])

    def reset(self) -> None:
        """Draw new noise: f(ε) = sign(ε) √|ε| of inputs and outputs, multiplied out."""
        into, out = (torch.randn(size) for size in reversed(self.weight.shape))
        into, out = into.sign() * into.abs().sqrt(), out.sign() * out.abs().sqrt()
        self.weight_noise.copy_(torch.outer(out, into))
        self.bias_noise.copy_(out)

    def forward(self, states: Tensor) -> Tensor:
        """The layer's output with its noise."""
        weight = self.weight + self.weight_sigma * self.weight_noise
        return F.linear(states, weight, self.bias + self.bias_sigma * self.bias_noise)


class Network(nn.Module):
    """Our network with dense heads."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.encoder, self.blocks = copy.deepcopy(network.encoder), copy.deepcopy(network.blocks)
        heads = network.heads
        self.shared, self.command, self.query = map(Dense.of, (heads.shared, heads.command, heads.query))
        self.values = nn.ModuleList(map(Dense.of, heads.values))

    def reset(self) -> None:
        """New noise in every layer."""
        for layer in (self.shared, self.command, self.query, *self.values):
            layer.reset()

    def forward(self, batch: Batch, mask: Tensor) -> Tensor:
        """f32[N, A - 1 + V]: the values of the plain commands, and of a search for each word."""
        memory, _, _ = self.encoder(batch)
        real = batch.real[:, :, None]
        pooled = (self.blocks(memory, batch.real) * real).sum(1) / real.sum(1)
        shared = self.shared(pooled).relu()
        command, query = self.command(shared), self.query(shared) * mask
        command = command - command.mean(1, keepdim=True) + self.values[0](shared)
        query = query - query.sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
        query = query + self.values[1](shared)
        return torch.cat([command[:, :-1], (command[:, -1:] + query).masked_fill(mask == 0, -torch.inf)], 1)


class Agent:
    """The agent, with the weights of ours.

    Args:
        actor: an `AskingActor` with noisy layers and a row of the query head for each word.
    """

    def __init__(self, actor: Any, learning_rate: float, gamma: float, clip: float) -> None:
        lexicon = actor.inputs.lexicon
        self.lexicon, self.plain, self.gamma, self.clip = lexicon, actor.inputs.plain, gamma, clip
        self.rows = {word: i + 1 for i, word in enumerate(lexicon.words)}
        self.letters = {letter: i + 2 for i, letter in enumerate(lexicon.letters)}
        self.online = Network(actor.policy).eval()
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=learning_rate)

    def mask(self, situations: Sequence[Situation]) -> Tensor:
        """f32[N, V]: 1 where a word is a legal query."""
        mask = np.zeros((len(situations), len(self.rows) + 1), np.float32)
        for row, situation in zip(mask, situations, strict=True):
            for word in situation.queries:
                row[self.rows.get(word, 0)] = 1.0
        return torch.from_numpy(mask)

    def batch(self, situations: Sequence[Situation]) -> Batch:
        """The batch of situations: each place of a word has a row of its own."""
        texts = [[getattr(each, name).split(" ") for each in situations] for name in ("question", "memory")]
        spelled, numbers, places = [[0] * LONGEST], [0], []
        for rows in texts:
            place = np.zeros((len(rows), max(map(len, rows))), np.int64)
            for i, words in enumerate(rows):
                for j, word in enumerate(words):
                    place[i, j] = len(numbers)
                    numbers.append(int(self.lexicon(word)[0]))
                    letters = [0] * LONGEST
                    for k, letter in enumerate(word[:LONGEST]):
                        letters[k] = self.letters.get(letter, UNKNOWN)
                    spelled.append(letters)
            places.append(torch.from_numpy(place))
        return Batch(
            question=places[0],
            memory=places[1],
            queries=torch.zeros((len(situations), 0), dtype=torch.int64),
            searched=torch.zeros((len(situations), 0), dtype=torch.int64),
            left=torch.zeros(len(situations)),
            rows=torch.zeros(0, dtype=torch.int64),
            characters=torch.tensor(spelled),
            vectors=torch.from_numpy(self.lexicon.vectors[numbers]),
            numbers=torch.tensor(numbers),
        )

    @torch.no_grad()
    def act(self, situations: Sequence[Situation]) -> list[int]:
        """The best action of each game, with new noise."""
        self.online.reset()
        return self.values(self.online, situations).argmax(1).tolist()

    def values(self, network: Network, situations: Sequence[Situation]) -> Tensor:
        """f32[N, A - 1 + V]."""
        return network(self.batch(situations), self.mask(situations))

    def draw(self, episodes: Sequence[Sequence[Transition]], count: int, n_step: int) -> list[Any]:
        """Transitions of 1 to `n_step` steps: situation, action, return, γ^n, next situation, its end."""
        drawn = []
        for _ in range(count):
            episode = random.choice(episodes)
            first = random.randrange(len(episode))
            steps = episode[first : first + random.randint(1, n_step)]
            total = sum(self.gamma**i * step.reward for i, step in enumerate(steps))
            action = self.action(steps[0].command, steps[0].query)
            last = steps[-1]
            drawn.append(
                (steps[0].situation, action, total, self.gamma ** len(steps), last.following, last.ended)
            )
        return drawn

    def action(self, command: int, query: str) -> int:
        """The column of a command."""
        return command if command < self.plain else self.plain + self.rows.get(query, 0)

    def loss(self, drawn: Sequence[Any]) -> Tensor:
        """The mean Huber loss with the double-Q target."""
        situations, actions, returns, discounts, following, ended = zip(*drawn, strict=True)
        with torch.no_grad():
            best = self.values(self.online, following).argmax(1, keepdim=True)
            after = self.values(self.target, following).gather(1, best)[:, 0]
            alive = 1 - torch.tensor(ended, dtype=torch.float32)
            target = torch.tensor(returns) + torch.tensor(discounts) * alive * after
        own = self.values(self.online, situations).gather(1, torch.tensor(actions)[:, None])[:, 0]
        return F.smooth_l1_loss(own, target)

    def learn(self, drawn: Sequence[Any]) -> float:
        """One gradient step, with new noise."""
        self.online.train()
        self.online.reset()
        self.target.reset()
        loss = self.loss(drawn)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.online.parameters(), self.clip)
        self.optimizer.step()
        self.online.eval()
        return float(loss.detach())
