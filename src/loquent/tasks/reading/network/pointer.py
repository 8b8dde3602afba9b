"""The question answerer (arXiv:1908.10449 eq. 2, 3): pointers at first and last token of an answer."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from loquent.tasks.reading.network.settings import NetworkSettings


class Head(nn.Module):
    """Scores of tokens from two states each: linear, ReLU, linear."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(2 * width, hidden), nn.Linear(hidden, 1)

    def forward(
        self, states: Float[Tensor, "N L d"], more: Float[Tensor, "N L d"], real: Bool[Tensor, "N L"]
    ) -> Float[Tensor, "N L"]:
        """Log-probabilities of the tokens; -inf for padding."""
        scores = self.second(self.first(torch.cat([states, more], 2)).relu())[:, :, 0]
        return scores.masked_fill(~real, -torch.inf).log_softmax(1)


class Pointer(nn.Module):
    """The two heads, each with a stack of blocks before it, the second after the first.

    Args:
        stacks: the two stacks, or none: then `forward` is given the network's own.
    """

    def __init__(self, settings: NetworkSettings, stacks: Sequence[nn.Module]) -> None:
        super().__init__()
        self.stacks = nn.ModuleList(stacks)
        self.heads = nn.ModuleList(Head(settings.width, settings.pointer_hidden) for _ in range(2))

    def forward(
        self, states: Float[Tensor, "N L d"], real: Bool[Tensor, "N L"], shared: nn.Module
    ) -> tuple[Float[Tensor, "N L"], Float[Tensor, "N L"]]:
        """Log-probabilities of the first and the last token. `shared` is the stack where there are none."""
        first_stack, last_stack = self.stacks if len(self.stacks) else (shared, shared)
        for_first = first_stack(states, real)
        for_last = last_stack(for_first, real)
        return self.heads[0](states, for_first, real), self.heads[1](states, for_last, real)


def best_spans(first: Float[Tensor, "N L"], last: Float[Tensor, "N L"], longest: int) -> Int[Tensor, "N 2"]:
    """The half-open range [h, t + 1) with the greatest first[h] + last[t], where h <= t < h + `longest`.

    The two ends are chosen together; of equally good ranges it is the first one.
    """
    length = first.shape[1]
    place = torch.arange(length, device=first.device)
    gap = place[None] - place[:, None]
    joint = first[:, :, None] + last[:, None]
    joint = joint.masked_fill((gap < 0) | (gap >= longest), -torch.inf)
    flat = joint.flatten(1).argmax(1)
    return torch.stack([flat // length, flat % length + 1], 1)


def answer_loss(
    first: Float[Tensor, "N L"],
    last: Float[Tensor, "N L"],
    spans: Int[Tensor, "N S 2"],
) -> Float[Tensor, " N"]:
    """The negative log-likelihood that the pointers choose one of the right ranges.

    -log Σ_s p_first(h_s) p_last(t_s - 1), over the ranges [h_s, t_s) of each row; ranges of [0, 0) are
    padding.
    """
    inside = spans[:, :, 1] > 0
    total = first.gather(1, spans[:, :, 0]) + last.gather(1, (spans[:, :, 1] - 1).clamp(min=0))
    return -total.masked_fill(~inside, -torch.inf).logsumexp(1)
