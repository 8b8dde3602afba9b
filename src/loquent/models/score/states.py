"""What value learners read: the hidden states before each action token and at the end of each row, once for
each network.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from loquent import pretrained
from loquent.errors import BadModel
from loquent.models.actor import Actor
from loquent.models.score.tokens import deciding
from loquent.models.tokens.batch import Positions, TokenBatch, positions


@dataclass(frozen=True, eq=False)
class States:
    """Hidden states at S positions of a batch, in row-major order, and which of them belong to its N action
    tokens.

    `policy` holds the policy's own at all positions somebody asked for, or None where nobody did.
    """

    at: Positions
    online: Float[Tensor, "S H"]
    target: Float[Tensor, "S H"]
    state: Int64[Tensor, " N"]  # where the state of each action token stands among the S
    following: Int64[Tensor, " N"]  # and its next state; that of a row's last action is its last real token
    policy: Float[Tensor, "B T H"] | None


class StateCache:
    """Hidden states of a trunk that never changes, computed once for each row of tokens and kept, as far as
    the memory allows.

    A row is computed alone, so that its numbers depend on nothing else: what is kept, or dropped, changes
    none of them.
    """

    def __init__(self, trunk: nn.Module, megabytes: int) -> None:
        self._trunk, self._room = trunk, megabytes << 20
        self._kept: dict[tuple[bytes, bytes], Tensor] = {}

    @torch.no_grad()
    def states(self, batch: TokenBatch, wanted: Bool[Tensor, "B T"]) -> Float[Tensor, "S H"]:
        """The states at the positions wanted, in row-major order."""
        found = []
        for tokens, where, length in zip(batch.tokens, wanted, batch.real.sum(1).tolist(), strict=True):
            ids, here = tokens[:length], where[:length]
            key = ids.cpu().numpy().tobytes(), here.cpu().numpy().tobytes()
            states = self._kept.get(key)
            if states is None:
                states = pretrained.hidden(self._trunk, ids[None], here[None])[0, here].cpu()
                size = states.numel() * states.element_size()
                if size <= self._room:
                    self._room -= size
                    self._kept[key] = states
            found.append(states)
        return torch.cat(found).to(batch.tokens.device)


def states_of(
    actor: Actor,
    batch: TokenBatch,
    *,
    policy: bool = False,
    every: bool = False,
    cache: StateCache | None = None,
) -> States:
    """The states of a batch whose rows all have an action: one forward pass for each network that is read,
    and one more without dropout for targets on a trunk that has it.

    Args:
        policy: the policy's own states are wanted too, with a gradient where it learns.
        every: of these, all real ones; by default those before action tokens.
        cache: where to look for the states of the policy's trunk, which then never changes.

    Raises:
        BadModel: the actor has no values.
    """
    at = positions(batch)
    last = (batch.real.sum(1, keepdim=True) - 1).clamp_min(0)
    wanted = deciding(batch).scatter(1, last, True)
    online, target, own = states_where(actor, batch, wanted, policy=policy, every=every, cache=cache)
    state, following = (numbered(wanted, place)[at.real] for place in (at.state, at.next))
    return States(at, online, target, state, following, own)


def states_where(
    actor: Actor,
    batch: TokenBatch,
    wanted: Bool[Tensor, "B T"],
    *,
    policy: bool = False,
    every: bool = False,
    cache: StateCache | None = None,
) -> tuple[Float[Tensor, "S H"], Float[Tensor, "S H"], Float[Tensor, "B T H"] | None]:
    """What the online heads, the target heads and the policy's output layer read at the positions wanted.

    See `states_of`.

    Raises:
        BadModel: the actor has no values.
    """
    values = actor.values
    if values is None:
        raise BadModel("the actor has no values; an algorithm that learns them attaches them")
    own = None
    if cache is not None:
        online = target = cache.states(batch, wanted)
        own = (
            online.new_zeros(*batch.tokens.shape, online.shape[1]).masked_scatter(wanted[..., None], online)
            if policy
            else None
        )
        return online, target, own
    if policy or values.value_trunk is None:
        own = pretrained.hidden(actor.policy, batch.tokens, batch.real if every else wanted)
    states = (
        own if values.value_trunk is None else pretrained.hidden(values.value_trunk, batch.tokens, wanted)
    )
    assert states is not None  # without a trunk of their own, the values read the policy's states
    online = states[wanted]
    if values.target_trunk is None and not pretrained.drops_out(actor.policy):
        return online, online.detach(), own
    followed = actor.policy if values.target_trunk is None else values.target_trunk
    with (
        torch.no_grad(),
        pretrained.evaluating(followed),
    ):  # a trunk that both read drops out for the heads that learn alone
        target = pretrained.hidden(followed, batch.tokens, wanted)[wanted]
    return online, target, own


def numbered(wanted: Bool[Tensor, "B T"], place: Int64[Tensor, "B A"]) -> Int64[Tensor, "B A"]:
    """Where positions of a row stand among all wanted ones."""
    return (wanted.flatten().cumsum(0) - 1).view(wanted.shape).gather(1, place)
