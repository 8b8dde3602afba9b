"""Pairs of answers given in one state of which one is known to be better: what a learned Q should rank (2206.11871, section 5).

Where both say the same there is nothing to rank, and no pair.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from loquent.episode import Episode, Turn
from loquent.errors import BadRow


@dataclass(frozen=True)
class Pair:
    """Two games that are the same up to `turn`, where the better one's answer and the other's stand at the same place."""

    better: Episode
    other: Episode
    turn: int

    @property
    def answers(self) -> tuple[Turn, Turn]:
        """The better answer and the other."""
        return self.better.turns[self.turn], self.other.turns[self.turn]


def branch_pairs(episodes: Iterable[Episode]) -> list[Pair]:
    """Each fork with its parent, at the answer where the fork leaves it; in the order of the forks. Forks without their parent are left out.

    Raises:
        BadRow: a fork's `meta.start` names no answer up to which both games are the same; names the episode.
    """
    episodes = list(episodes)
    parents = {_game(one): one for one in episodes if "parent" not in one.meta}
    forks = [(one, parents.get((*_game(one)[:-1], one.meta["parent"]))) for one in episodes if "parent" in one.meta]
    return _different(Pair(parent, fork, _start(fork, parent)) for fork, parent in forks if parent is not None)


def initial_pairs(episodes: Iterable[Episode], better: str = "expert", other: str = "suboptimal") -> list[Pair]:
    """Each game of one kind with each of another on the same row, at their first answers, where all before is the same."""
    found: dict[str, dict[tuple[str, ...], list[Episode]]] = {better: defaultdict(list), other: defaultdict(list)}
    for one in episodes:
        if one.meta.get("kind") in found and _first(one) is not None:
            found[one.meta["kind"]][(one.task, one.split, one.row)].append(one)
    pairs = [(a, b) for place, ones in found[better].items() for a in ones for b in found[other].get(place, ())]
    return _different(Pair(a, b, first) for a, b in pairs if (first := _first(a)) is not None and _opening(a, first) == _opening(b, _first(b)))


def _start(fork: Episode, parent: Episode) -> int:
    """The turn at which a fork leaves its parent."""
    start = fork.meta.get("start")
    if isinstance(start, int) and not isinstance(start, bool) and 0 <= start < min(len(fork.turns), len(parent.turns)):
        both = fork.turns[start].seat == parent.turns[start].seat == fork.learning
        if both and _opening(fork, start) == _opening(parent, start):
            return start
    place = f"the fork {fork.row}#{fork.number} of {fork.task}, seed {fork.seed}, of the game {fork.row}#{parent.number}"
    raise BadRow(f"{place}: meta.start is {start!r:.40}; the number of an answer of {fork.learning!r} up to which both are the same is right")


def _different(pairs: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in pairs if pair.answers[0].text != pair.answers[1].text]


def _game(one: Episode) -> tuple[str, str, str, int, int]:
    return one.task, one.split, one.row, one.seed, one.number


def _first(one: Episode) -> int | None:
    return next((i for i, turn in enumerate(one.turns) if turn.seat == one.learning), None)


def _opening(one: Episode, first: int | None) -> tuple[tuple[str, str, str], ...]:
    return tuple((turn.seat, turn.to, turn.text) for turn in one.turns[:first])
