"""Hidden states for value learners: before each action token and at the end of each row."""

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
    """Hidden states at S positions of a batch, in row-major order, for its N action tokens.

    `policy` holds the policy's states at all requested positions, or None if they were not requested.
    """

    at: Positions
    online: Float[Tensor, "S H"]
    target: Float[Tensor, "S H"]
    state: Int64[Tensor, " N"]  # the index among the S positions of each action token's state
    # the index of the next state; after a row's last action its last real token
    following: Int64[Tensor, " N"]
    policy: Float[Tensor, "B T H"] | None


class StateCache:
    """Hidden states of a frozen trunk, computed once for each row of tokens, up to a limit of memory.

    Each row is computed alone, so its states do not depend on other rows or on what is stored.
    """

    def __init__(self, trunk: nn.Module, megabytes: int) -> None:
        self._trunk, self._room = trunk, megabytes << 20
        self._stored: dict[tuple[bytes, bytes], Tensor] = {}

    @torch.no_grad()
    def states(self, batch: TokenBatch, wanted: Bool[Tensor, "B T"]) -> Float[Tensor, "S H"]:
        """The states at the positions `wanted`, in row-major order."""
        rows = []
        for tokens, where, length in zip(batch.tokens, wanted, batch.real.sum(1).tolist(), strict=True):
            ids, here = tokens[:length], where[:length]
            key = ids.cpu().numpy().tobytes(), here.cpu().numpy().tobytes()
            states = self._stored.get(key)
            if states is None:
                states = pretrained.hidden(self._trunk, ids[None], here[None])[0, here].cpu()
                size = states.numel() * states.element_size()
                if size <= self._room:
                    self._room -= size
                    self._stored[key] = states
            rows.append(states)
        return torch.cat(rows).to(batch.tokens.device)


def states_of(
    actor: Actor,
    batch: TokenBatch,
    *,
    policy: bool = False,
    every: bool = False,
    cache: StateCache | None = None,
) -> States:
    """The states of a batch in which every row has an action.

    Each network runs once. A trunk with dropout runs once more without dropout for the targets.

    Args:
        policy: also return the policy's own states, with a gradient if the policy learns.
        every: return the policy's states at all real positions; by default only before action tokens.
        cache: stored states of the policy's trunk, which must be frozen.

    Raises:
        BadModel: the actor has no values.
    """
    at = positions(batch)
    last = (batch.real.sum(1, keepdim=True) - 1).clamp_min(0)
    wanted = deciding(batch).scatter(1, last, True)
    online, target, own = states_where(actor, batch, wanted, policy=policy, every=every, cache=cache)
    state, following = (index_among(wanted, place)[at.real] for place in (at.state, at.next))
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
    """The states that the online heads, the target heads and the policy's output layer read.

    The first two are at the positions `wanted`. The arguments are those of `states_of`.

    Raises:
        BadModel: the actor has no values.
    """
    values = actor.values
    if values is None:
        raise BadModel("the actor has no values; train it with an algorithm that learns values")
    own = None
    if cache is not None:
        online = target = cache.states(batch, wanted)
        if policy:
            zeros = online.new_zeros(*batch.tokens.shape, online.shape[1])
            own = zeros.masked_scatter(wanted[..., None], online)
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
    target_trunk = actor.policy if values.target_trunk is None else values.target_trunk
    # on a shared trunk, dropout is only for the online heads
    with torch.no_grad(), pretrained.evaluating(target_trunk):
        target = pretrained.hidden(target_trunk, batch.tokens, wanted)[wanted]
    return online, target, own


def index_among(wanted: Bool[Tensor, "B T"], place: Int64[Tensor, "B A"]) -> Int64[Tensor, "B A"]:
    """The indices of positions of each row among all wanted positions of the batch."""
    return (wanted.flatten().cumsum(0) - 1).view(wanted.shape).gather(1, place)
