"""Which answers a learner from preferences compares: pairs of answers to one row, by their returns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from loquent.algorithms.policy_gradient.episode_groups import Episodes, episodes_of
from loquent.models.tokens.batch import TokenBatch

KINDS = ("best_worst", "all")
ROUNDING = 1e-6  # a relative difference of two sums of float32 that may be rounding


@dataclass(frozen=True, eq=False)
class Units:
    """The answers that a loss compares: U units of M episodes, such as pairs.

    Attributes:
        batch: the rows of these episodes.
        members: the numbers of the episodes in `episodes_of(batch)`; of a pair the chosen one comes first.
        desirable: whether an answer is desirable, where a unit is one answer.
    """

    batch: TokenBatch
    members: Int64[Tensor, "U M"]
    desirable: Bool[Tensor, " U"] | None = None

    def __len__(self) -> int:
        return len(self.members)

    def take(self, units: Tensor) -> Units:
        """These units, in that order, with the rows of their episodes alone."""
        kept, renumbered = self.members[units].unique(return_inverse=True)
        rows = torch.isin(episodes_of(self.batch).number, kept)
        labels = None if self.desirable is None else self.desirable[units]
        return Units(self.batch.take(rows), renumbered, labels)

    def to(self, device: torch.device) -> Units:
        """The same units on a device."""
        labels = None if self.desirable is None else self.desirable.to(device)
        return Units(self.batch.to(device), self.members.to(device), labels)

    def parts(self, token_budget: int) -> Iterator[Units]:
        """Forward passes: whole units of similar length.

        A part has at most `token_budget` padded tokens, or is one unit. An episode of several units of a part
        is in it once.
        """
        lengths = self.batch.real.sum(1).tolist()
        rows: dict[int, list[int]] = {}
        for row, number in enumerate(episodes_of(self.batch).number.tolist()):
            rows.setdefault(number, []).append(row)
        widths = {number: max(lengths[row] for row in own) for number, own in rows.items()}
        members = self.members.tolist()
        order = sorted(range(len(members)), key=lambda unit: -max(widths[number] for number in members[unit]))
        part: list[int] = []
        inside: set[int] = set()
        for unit in order:
            joined = inside | set(members[unit])
            count, width = sum(len(rows[number]) for number in joined), max(widths[n] for n in joined)
            if part and count * width > token_budget:
                yield self.take(torch.tensor(part))
                part, joined = [], set(members[unit])
            part, inside = [*part, unit], joined
        if part:
            yield self.take(torch.tensor(part))

    def sums(self, values: Float[Tensor, " N"]) -> Float[Tensor, "U M"]:
        """The sums of numbers of all action tokens over each answer."""
        episodes = episodes_of(self.batch)
        total = values.new_zeros(len(episodes.group))
        return total.index_add(0, episodes.of_tokens(self.batch), values)[self.members]

    @property
    def lengths(self) -> Int64[Tensor, "U M"]:
        """The action tokens of each answer."""
        return episodes_of(self.batch).length[self.members]


def returns_of(batch: TokenBatch, episodes: Episodes) -> Float[Tensor, " E"]:
    """The return of each episode, in float64."""
    return episodes.sums(torch.where(batch.is_action, batch.reward, 0.0).double())


def pairs_of(
    returns: Float[Tensor, " E"], group: Int64[Tensor, " E"], kind: str = "best_worst"
) -> Int64[Tensor, "P 2"]:
    """The pairs (chosen, rejected) of episodes of one group, of which the chosen one has the higher return.

    Returns that differ by rounding alone are equal, and equal returns make no pair.

    Args:
        returns: of each episode.
        group: the row of each episode.
        kind: "best_worst": of each group the first of the best and the first of the worst; "all": each two.
    """
    answers: dict[int, list[int]] = {}
    for number, name in enumerate(group.tolist()):
        answers.setdefault(name, []).append(number)
    values = returns.tolist()
    pairs = []
    for own in answers.values():
        candidates = [(a, b) for a in own for b in own]
        if kind == "best_worst":
            candidates = [(max(own, key=values.__getitem__), min(own, key=values.__getitem__))]
        pairs += [(a, b) for a, b in candidates if _above(values[a], values[b])]
    return torch.tensor(pairs, dtype=torch.int64, device=group.device).reshape(-1, 2)


def _above(one: float, other: float) -> bool:
    return one - other > ROUNDING * max(1.0, abs(one), abs(other))


def only_members(units: Units) -> TokenBatch:
    """The rows of the compared episodes, with the number of the episodes that are left out."""
    kept = units.take(torch.arange(len(units)))
    left = len(episodes_of(units.batch).group) - len(episodes_of(kept.batch).group)
    return replace(kept.batch, unpaired=units.batch.unpaired + left)
