"""The utterances of a batch of tokens: where each begins and ends, and its reward.

Algorithms that learn one value per utterance read them.
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

    The code of arXiv:2206.11871 calls these `u_state_idxs` and so on.
    """

    action: Int64[Tensor, "B U"]  # its last token: the hidden state after the answer
    state: Int64[Tensor, "B U"]  # the token before its first one: the hidden state before the answer
    next: Int64[Tensor, "B U"]  # the state of the next answer; for the last answer the last real token
    reward: Float[Tensor, "B U"]  # the sum over its tokens
    alive: Bool[Tensor, "B U"]  # whether the next state has a value
    real: Bool[Tensor, "B U"]
    of: Int64[Tensor, "B A"]  # the answer of each action token


def utterances(batch: TokenBatch) -> Utterances:
    """The answers of a batch; a new answer begins where `turn` changes.

    Raises:
        LoquentError: a row begins with an action, which then has no state.
    """
    at = positions(batch)
    turn = batch.turn.gather(1, at.action)
    first, last = at.real & (turn != turn.roll(1, 1)), at.real.clone()
    first[:, :1] = at.real[:, :1]
    last[:, :-1] &= first[:, 1:] | ~at.real[:, 1:]
    counts = first.sum(1)
    answer = (first.cumsum(1) - 1).clamp(min=0)  # of each action token
    real = torch.arange(int(counts.max()) if len(batch) else 0, device=batch.tokens.device) < counts[:, None]

    def per_answer(values: Tensor, chosen: Tensor) -> Tensor:
        out = values.new_zeros(real.shape)
        out[real] = values[chosen]
        return out

    token_reward = batch.reward.gather(1, at.action) * at.real
    return Utterances(
        action=per_answer(at.action, last),
        state=per_answer(at.state, first),
        next=per_answer(at.next, last),
        reward=token_reward.new_zeros(real.shape).scatter_add(1, answer, token_reward),
        alive=per_answer(at.alive, last),
        real=real,
        of=answer,
    )
