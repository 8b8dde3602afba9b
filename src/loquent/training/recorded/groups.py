"""The groups of recorded answers that a learner compares: the answers to one row."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from loquent.core.settings import Remark
from loquent.errors import BadSetting
from loquent.models.tokens.batch import TokenBatch


def comparable(
    groups: Sequence[int],
    returns: NDArray[np.float64],
    chosen: NDArray[np.int64],
    least: int,
    paths: str,
) -> NDArray[np.int64]:
    """The chosen episodes that can be compared, ascending.

    Their group has at least `least` chosen episodes, of which two have different returns.

    Args:
        groups: the group of each episode.
        returns: of each episode.
        paths: of the episodes, for errors.

    Raises:
        BadSetting: no episode is left.

    Warns:
        Remark: how many episodes are left out, and why.
    """
    of_group: dict[int, list[int]] = {}
    for episode in chosen.tolist():
        of_group.setdefault(groups[episode], []).append(episode)
    few = [own for own in of_group.values() if len(own) < least]
    equal = [own for own in of_group.values() if len(own) >= least and len(set(returns[own])) == 1]
    left_out = {episode for own in (*few, *equal) for episode in own}
    counts = (
        f"{sum(map(len, few))} of {len(chosen)} episodes are on rows with fewer than {least} answers, and "
        f"{sum(map(len, equal))} on rows whose answers all have the same return"
    )
    if len(left_out) == len(chosen):
        raise BadSetting(
            f"training.data = {paths!r} has no answers to compare: {counts}; name a file of `chosen` and "
            "`rejected`, or collect several answers to each row (`loquent collect` with design.answers=4), "
            "and score them by a reward that tells them apart. Of answers with labels, each alone, "
            "`kto` learns with algorithm.threshold=0.5"
        )
    if left_out:
        warnings.warn(f"training.data: {counts}; they are left out", Remark, stacklevel=3)
    return np.array([episode for episode in chosen.tolist() if episode not in left_out], dtype=np.int64)


class Groups:
    """The groups of a batch by their numbers."""

    def __init__(self, batch: TokenBatch) -> None:
        assert batch.group is not None
        self._batch = batch
        self._rows: dict[int, list[int]] = {}
        for row, group in enumerate(batch.group.tolist()):
            self._rows.setdefault(group, []).append(row)

    def size(self, number: int) -> int:
        """The number of episodes of a group; 0 if the batch has none of it."""
        return len(set(self._batch.episode[self._rows.get(number, [])].tolist()))

    def take(self, numbers: Sequence[int]) -> TokenBatch:
        """The rows of groups, with groups and episodes numbered from 0; a group taken twice is two groups."""
        rows = [self._rows.get(number, []) for number in numbers]
        group = torch.repeat_interleave(torch.arange(len(rows)), torch.tensor([len(own) for own in rows]))
        taken = self._batch.take([row for own in rows for row in own])
        return replace(taken, group=group, episode=_renumbered(group, taken.episode))


def _renumbered(group: Tensor, episode: Tensor) -> Tensor:
    """The numbers of episodes in the order of their first rows; those of two groups are different."""
    seen: dict[tuple[int, int], int] = {}
    pairs = zip(group.tolist(), episode.tolist(), strict=True)
    return torch.tensor([seen.setdefault(pair, len(seen)) for pair in pairs], dtype=torch.int64)
