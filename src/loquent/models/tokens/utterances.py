"""Whole utterances in a batch of tokens: where each begins, where it ends, and what it earned.

What learners per utterance read.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.models.tokens.batch import TokenBatch, positions


@dataclass(frozen=True, eq=False)
class Utterances:
    """The u-th answer of each row, padded on the right with 0.

    What the code of arXiv:2206.11871 calls `u_state_idxs` and so on.
    """

    action: Int64[
        Tensor, "B U"
    ]  # its last token (the end marker, where it has one): the hidden after the whole answer
    state: Int64[Tensor, "B U"]  # the token before its first: the hidden in which it begins
    next: Int64[Tensor, "B U"]  # the state of the next one; of the last one the last real token
    reward: Float[Tensor, "B U"]  # of all its tokens
    alive: Bool[Tensor, "B U"]  # whether the next state has a value
    real: Bool[Tensor, "B U"]
    of: Int64[Tensor, "B A"]  # the answer that each action token belongs to


def utterances(batch: TokenBatch) -> Utterances:
    """The answers of a batch. Two answers may touch: a new one begins where `turn` changes.

    Raises:
        LoquentError: a row begins with an action, which then has no state.
    """
    at = positions(batch)
    turn = batch.turn.gather(1, at.action)
    first, last = at.real & (turn != turn.roll(1, 1)), at.real.clone()
    first[:, :1] = at.real[:, :1]
    last[:, :-1] &= first[:, 1:] | ~at.real[:, 1:]
    counts, number = (
        first.sum(1),
        (first.cumsum(1) - 1).clamp(min=0),
    )  # number: of the answer that an action token belongs to
    real = torch.arange(int(counts.max()) if len(batch) else 0, device=batch.tokens.device) < counts[:, None]

    def each(values: Tensor, chosen: Tensor) -> Tensor:
        out = values.new_zeros(real.shape)
        out[real] = values[chosen]
        return out

    earned = batch.reward.gather(1, at.action) * at.real
    reward = earned.new_zeros(real.shape).scatter_add(1, number, earned)
    return Utterances(
        each(at.action, last),
        each(at.state, first),
        each(at.next, last),
        reward,
        each(at.alive, last),
        real,
        number,
    )
