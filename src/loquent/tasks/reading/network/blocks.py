"""Blocks of QANet (arXiv:1804.09541 sec. 2.2): positions, separable convolutions, self-attention, layers."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F


def positions(length: int, width: int, device: torch.device) -> Float[Tensor, "L d"]:
    """Sines, then cosines, of the positions over `width` / 2 geometric timescales from 1 to 10,000."""
    half = width // 2
    step = math.log(10_000) / max(1, half - 1)
    scales = torch.exp(-step * torch.arange(half, dtype=torch.float32, device=device))
    angles = torch.arange(length, dtype=torch.float32, device=device)[:, None] * scales
    return torch.cat([angles.sin(), angles.cos()], 1)


class Convolution(nn.Module):
    """A depthwise separable convolution: one filter for each channel, then a linear layer and ReLU."""

    def __init__(self, width: int, window: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(
            width, width, (1, window), padding=(0, window // 2), groups=width, bias=False
        )
        self.pointwise = nn.Linear(width, width)

    def forward(self, states: Float[Tensor, "N L d"], real: Bool[Tensor, "N L"]) -> Float[Tensor, "N L d"]:
        """The new states; padding counts as zeros."""
        inside = states * real[:, :, None]
        near = self.depthwise(inside.transpose(1, 2)[:, :, None])[:, :, 0].transpose(1, 2)
        return self.pointwise(near).relu()


class SelfAttention(nn.Module):
    """Scaled dot-product attention among the tokens, without biases and without an output layer."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.all = nn.Linear(width, 3 * width, bias=False)

    def forward(self, states: Float[Tensor, "N L d"], real: Bool[Tensor, "N L"]) -> Float[Tensor, "N L d"]:
        """The new states; no token attends to padding."""
        count, length, width = states.shape
        parts = self.all(states).view(count, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=real[:, None, None])
        return mixed.transpose(1, 2).reshape(count, length, width)


class Feed(nn.Module):
    """Two linear layers with ReLU between them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, states: Float[Tensor, "N L d"], real: Bool[Tensor, "N L"]) -> Float[Tensor, "N L d"]:
        """The new states."""
        result: Tensor = self.second(self.first(states).relu())
        return result


class Stack(nn.Module):
    """Blocks of convolutions, self-attention and a feed-forward layer, with residuals around each.

    Positions are added to the input of every block. Sub-layer l of L is left out in training with the
    probability `skip` · l / L, for the whole batch.
    """

    def __init__(
        self,
        width: int,
        *,
        blocks: int,
        convolutions: int,
        window: int,
        heads: int,
        dropout: float,
        skip: float,
    ) -> None:
        super().__init__()
        self.each, self.dropout, self.skip = convolutions + 2, dropout, skip
        layers: list[nn.Module] = []
        for _ in range(blocks):
            layers += [Convolution(width, window) for _ in range(convolutions)]
            layers += [SelfAttention(width, heads), Feed(width)]
        self.layers = nn.ModuleList(layers)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in layers)

    def forward(self, states: Float[Tensor, "N L d"], real: Bool[Tensor, "N L"]) -> Float[Tensor, "N L d"]:
        """The new states; those of padding are zeros."""
        signal = positions(states.shape[1], states.shape[2], states.device)
        for number, (norm, layer) in enumerate(zip(self.norms, self.layers, strict=True)):
            place = number % self.each
            if place == 0:
                states = states + signal
            if (
                self.training
                and self.skip
                and float(torch.rand(())) < self.skip * (number + 1) / len(self.layers)
            ):
                continue
            inner = norm(states)
            if place % 2 == 0 or place >= self.each - 2:  # on every other convolution, as in QANet
                inner = F.dropout(inner, self.dropout, self.training)
            states = states + F.dropout(layer(inner, real), self.dropout, self.training)
        return states * real[:, :, None]


class Highway(nn.Module):
    """Two highway layers (arXiv:1505.00387) with ReLU: gate · new + (1 - gate) · old."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.changes = nn.ModuleList(nn.Linear(width, width) for _ in range(2))

    def forward(self, states: Float[Tensor, "... d"]) -> Float[Tensor, "... d"]:
        """The new states."""
        for gate, change in zip(self.gates, self.changes, strict=True):
            share = gate(states).sigmoid()
            new = F.dropout(change(states).relu(), self.dropout, self.training)
            states = share * new + (1 - share) * states
        return states


class CrossAttention(nn.Module):
    """Attention between memory and question with a trilinear similarity (arXiv:1611.01603; QANet sec. 2.2).

    S = w_c·c + w_q·q + w_m·(c∘q) + b, A = S̄ Q, B = S̄ S̿ᵀ C, and the result is a linear layer of
    [C; A; C∘A; C∘B]. S̄ is a softmax over the question, S̿ over the memory.
    """

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.memory, self.question = nn.Linear(width, 1, bias=False), nn.Linear(width, 1, bias=False)
        self.product = nn.Parameter(torch.empty(1, width))
        self.bias = nn.Parameter(torch.zeros(()))
        for weight in (self.memory.weight, self.question.weight, self.product):
            nn.init.xavier_uniform_(weight)
        self.out = nn.Linear(4 * width, width)

    def forward(
        self,
        memory: Float[Tensor, "N L d"],
        question: Float[Tensor, "N M d"],
        real: Bool[Tensor, "N L"],
        asked: Bool[Tensor, "N M"],
    ) -> Float[Tensor, "N L d"]:
        """The states of the memory, with what they share with the question."""
        c = F.dropout(memory, self.dropout, self.training)
        q = F.dropout(question, self.dropout, self.training)
        scores = self.memory(c) + self.question(q).transpose(1, 2) + (c * self.product) @ q.transpose(1, 2)
        scores = scores + self.bias
        to_question = softmax(scores, asked[:, None], 2)
        to_memory = softmax(scores, real[:, :, None], 1)
        attended = to_question @ question
        back = to_question @ (to_memory.transpose(1, 2) @ memory)
        joined = torch.cat([memory, attended, memory * attended, memory * back], 2)
        result: Tensor = self.out(F.dropout(joined, self.dropout, self.training))
        return result * real[:, :, None]


def softmax(scores: Tensor, real: Bool[Tensor, ...], dim: int) -> Tensor:
    """Softmax over the real entries; where none is real, the same for all."""
    return scores.masked_fill(~real, torch.finfo(scores.dtype).min).softmax(dim)
