"""What values say of the tokens of a batch that were taken: read once, in one pass a network, never [B, T,
V].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from loquent.models.score.acted import states
from loquent.models.score.tokens import deciding, micro_batches
from loquent.models.tokens.batch import TokenBatch
from loquent.models.values.networks import TokenValues
from loquent.pretrained import evaluating


class Readings(NamedTuple):
    """At the positions of action tokens (0 elsewhere): Q by the online heads (the smaller), by the targets
    (clipped), and V of the state.
    """

    q: Float[Tensor, "B T"]
    target_q: Float[Tensor, "B T"]
    v: Float[Tensor, "B T"]

    @property
    def advantage(self) -> Float[Tensor, "B T"]:
        """T - V: how much better than the state's value a token is."""
        return self.target_q - self.v


@torch.no_grad()
def readings(module: Any, values: TokenValues, batch: TokenBatch, *, token_budget: int = 8192) -> Readings:
    """Read a batch; `module` is the policy, whose hidden states values may share."""
    found = Readings(*(torch.zeros(batch.tokens.shape, dtype=torch.float64) for _ in Readings._fields))
    value = module if values.value_trunk is None else values.value_trunk
    target = value if values.target_trunk is None else values.target_trunk
    with evaluating(module, values):
        for rows in micro_batches(batch, token_budget):
            some = batch.take(rows).to(module.device)
            where = deciding(some)
            online, slow = states([value, target], some.tokens, where)
            taken = some.tokens.roll(-1, 1)[where]
            at = (
                torch.as_tensor(rows)[:, None].expand(some.tokens.shape)[some.is_action.cpu()],
                some.is_action.nonzero()[:, 1].cpu(),
            )
            read = (
                torch.stack(values.taken(online, taken)).amin(0),
                values.target_taken(slow, taken),
                values.v(online),
            )
            for placed, numbers in zip(found, read, strict=True):
                placed[at] = numbers.double().cpu()
    return found
