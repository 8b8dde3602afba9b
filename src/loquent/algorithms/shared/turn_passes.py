"""The order in which a pass over turns takes them."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from loquent.core.seeding import Key


def whole_episodes(episode: Int[Tensor, " N"], size: int, key: Key) -> tuple[Tensor, ...]:
    """The numbers of N turns in minibatches: episodes in a random order, the turns of each in theirs.

    A network encodes equal sentences of a minibatch once, so this order is faster than that of single turns.

    Args:
        episode: the number of the episode of each turn, from 0.
    """
    rank = torch.from_numpy(key.generator().permutation(int(episode.max()) + 1))
    return rank.to(episode.device)[episode].argsort(stable=True).split(size)
