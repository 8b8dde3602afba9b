"""The values of a batch's action tokens, in one pass per network.

No tensor has the size [B, T, V].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.models.score.action_scores import states
from loquent.models.score.tokens import deciding, micro_batches
from loquent.models.tokens.batch import TokenBatch
from loquent.models.values.networks import TokenValues
from loquent.pretrained import evaluating


class Readings(NamedTuple):
    """The values at the positions of action tokens; other positions have 0."""

    q: Float[Tensor, "B T"]  # the smaller one of the online heads
    target_q: Float[Tensor, "B T"]  # of the target heads, clipped
    v: Float[Tensor, "B T"]  # of the state

    @property
    def advantage(self) -> Float[Tensor, "B T"]:
        """The advantage T - V of each token."""
        return self.target_q - self.v


@torch.no_grad()
def readings(module: Any, values: TokenValues, batch: TokenBatch, *, token_budget: int = 8192) -> Readings:
    """The values of a batch; `module` is the policy, whose hidden states the values may read."""
    result = Readings(*(torch.zeros(batch.tokens.shape, dtype=torch.float64) for _ in Readings._fields))
    value_trunk = module if values.value_trunk is None else values.value_trunk
    target_trunk = value_trunk if values.target_trunk is None else values.target_trunk
    with evaluating(module, values):
        for rows in micro_batches(batch, token_budget):
            part = batch.take(rows).to(module.device)
            is_state = deciding(part)
            online, slow = states([value_trunk, target_trunk], part.tokens, is_state)
            actions = part.tokens.roll(-1, 1)[is_state]
            at = (
                torch.as_tensor(rows)[:, None].expand(part.tokens.shape)[part.is_action.cpu()],
                part.is_action.nonzero()[:, 1].cpu(),
            )
            numbers_of_fields = (
                torch.stack(values.gather(online, actions)).amin(0),
                values.target_taken(slow, actions),
                values.v(online),
            )
            for field, numbers in zip(result, numbers_of_fields, strict=True):
                field[at] = numbers.double().cpu()
    return result
