"""Pairs of answers in the same state of which one is known to be better (2206.11871, section 5).

They evaluate how a learned Q ranks answers. Two equal answers make no pair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from loquent.core.episode import Episode, Turn
from loquent.errors import BadRow


@dataclass(frozen=True)
class Pair:
    """Two episodes that are equal before index `turn`, where they have the better answer and the other."""

    better: Episode
    other: Episode
    turn: int

    @property
    def answers(self) -> tuple[Turn, Turn]:
        """The better answer and the other."""
        return self.better.turns[self.turn], self.other.turns[self.turn]


def branch_pairs(episodes: Iterable[Episode]) -> list[Pair]:
    """Pairs of each fork and its parent at the answer where they diverge, in the order of the forks.

    A fork whose parent is absent makes no pair.

    Raises:
        BadRow: `meta.start` of a fork is not the index of an answer before which both episodes are equal;
            names the episode.
    """
    episodes = list(episodes)
    parents = {_identity(episode): episode for episode in episodes if "parent" not in episode.meta}
    forks = [fork for fork in episodes if "parent" in fork.meta]
    pairs = [(fork, parents.get((*_identity(fork)[:-1], fork.meta["parent"]))) for fork in forks]
    return _different(
        Pair(parent, fork, _start(fork, parent)) for fork, parent in pairs if parent is not None
    )


def initial_pairs(
    episodes: Iterable[Episode], better: str = "expert", other: str = "suboptimal"
) -> list[Pair]:
    """Pairs of first answers: each episode of kind `better` with each of kind `other`.

    Both are on the same row and have equal turns before their first answers.
    """
    groups: dict[str, dict[tuple[str, ...], list[Episode]]] = {
        better: defaultdict(list),
        other: defaultdict(list),
    }
    for episode in episodes:
        if episode.meta.get("kind") in groups and _first(episode) is not None:
            groups[episode.meta["kind"]][(episode.task, episode.split, episode.row)].append(episode)
    pairs = [
        (a, b) for row, group in groups[better].items() for a in group for b in groups[other].get(row, ())
    ]
    return _different(
        Pair(a, b, first)
        for a, b in pairs
        if (first := _first(a)) is not None and _opening(a, first) == _opening(b, _first(b))
    )


def _start(fork: Episode, parent: Episode) -> int:
    """The index of the turn at which a fork and its parent diverge."""
    start = fork.meta.get("start")
    if (
        isinstance(start, int)
        and not isinstance(start, bool)
        and 0 <= start < min(len(fork.turns), len(parent.turns))
    ):
        both = fork.turns[start].seat == parent.turns[start].seat == fork.learning
        if both and _opening(fork, start) == _opening(parent, start):
            return start
    place = (
        f"the fork {fork.row}#{fork.number} of {fork.task}, seed {fork.seed}, of the episode "
        f"{fork.row}#{parent.number}"
    )
    allowed = f"it must be the index of an answer of {fork.learning!r} before which both episodes are equal"
    raise BadRow(f"{place}: meta.start is {start!r:.40}; {allowed}")


def _different(pairs: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.answers[0].text != pair.answers[1].text]


def _identity(episode: Episode) -> tuple[str, str, str, int, int]:
    return episode.task, episode.split, episode.row, episode.seed, episode.number


def _first(episode: Episode) -> int | None:
    return next((i for i, turn in enumerate(episode.turns) if turn.seat == episode.learning), None)


def _opening(episode: Episode, first: int | None) -> tuple[tuple[str, str, str], ...]:
    return tuple((turn.seat, turn.to, turn.text) for turn in episode.turns[:first])
