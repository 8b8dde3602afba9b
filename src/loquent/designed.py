"""The designs of `loquent collect`: their options, who plays in them, and how a part of each is made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from loquent import designs, named
from loquent.episode import Episode
from loquent.errors import BadSetting, UnknownName
from loquent.fill import COMMAND_LINE, Node, fill
from loquent.play import Game, play
from loquent.settings import check_ranges, setting
from loquent.task import Row, Task
from loquent.tasks.wordle.tweets import TweetOptions, Tweets

GAMES, BRANCHING, ADVERSARIAL, TWEETS = "games", "branching", "adversarial", "tweets"
FILES = ("file", "answers", "guesses")  # options of the design tweets that name files
DESIGN, PLAYERS = "design", ("agent", "suboptimal", "adversary")  # whose options stand behind "design." and so on
Shard = Callable[[int, int], list[Episode]]  # the episodes of so many games from a number on


@dataclass(frozen=True)
class GamesOptions:
    """The design `games` has none: plain play."""


@dataclass(frozen=True, kw_only=True)
class BranchingOptions:
    """What the design `branching` may be told."""

    rollouts: int = setting(
        1, "games of the suboptimal player from each state of an expert's game", low=1, source="20k games x 1: released code of 2206.11871"
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class AdversarialOptions:
    """What the design `adversarial` may be told."""

    rollouts: int = setting(5, "games of the adversary from one state of an expert's game", low=0, source="released code of 2206.11871")
    games: int = setting(5, "whole games of the suboptimal player beside an expert's game", low=0, source="released code of 2206.11871")
    before: int = setting(3, "the adversary takes over before this answer of the expert's", low=1, source="2206.11871 sec. 5")

    def __post_init__(self) -> None:
        check_ranges(self)


OPTIONS: dict[str, type] = {GAMES: GamesOptions, BRANCHING: BranchingOptions, ADVERSARIAL: AdversarialOptions, TWEETS: TweetOptions}
SEATED: dict[str, tuple[str, ...]] = {
    GAMES: ("agent",),
    BRANCHING: ("agent", "suboptimal"),
    ADVERSARIAL: ("agent", "suboptimal", "adversary"),
    TWEETS: (),
}


def by_owner(options: Sequence[str]) -> dict[str, list[str]]:
    """Options by whose they are: the task's under "", those of the design (`design.key=value`) and of the players under their names."""
    return named.owned(options, DESIGN, *PLAYERS)


def read(name: str, players: Mapping[str, str | None], options: Sequence[str]) -> Any:
    """The options of a design; sees that just the players it needs are named, and no others have options.

    Raises:
        UnknownName: no such design. BadSetting: no such option, or a player too many or too few.
    """
    if name not in OPTIONS:
        raise UnknownName("design", name, OPTIONS)
    said = by_owner(options)
    for player, who in players.items():
        if (who is None) == (player in SEATED[name]):
            wanted = ", ".join(f"--{needed}" for needed in SEATED[name]) or "no player"
            raise BadSetting(f"--{player} is {'missing' if who is None else 'one too many'}: the design {name!r} takes {wanted}")
        if who is None and said[player]:
            raise BadSetting(f"{said[player][0]}: there is no --{player} whose option this could be")
    return fill(OPTIONS[name], Node(named.given(said[DESIGN], f"{DESIGN}."), COMMAND_LINE, None), f"design {name}")


def inputs(options: Any) -> str | None:
    """A hash of the files that a design reads, so that a collection is not gone on with from others; None where it reads none."""
    if not isinstance(options, TweetOptions):
        return None
    files = [Path(getattr(options, name)) for name in FILES if getattr(options, name)]
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()[:16]


def shards(task: Task, name: str, players: Mapping[str, str | None], given: Sequence[str], *, seed: int, split: str) -> Shard:
    """How episodes of a design are made: those of `count` games from number `first` on, whatever was made before."""
    options, owned = read(name, players, given), by_owner(given)
    if name == TWEETS:
        tweets = Tweets(task, options)
        return lambda first, count: [tweets.episode(number, seed, split) for number in range(first, first + count)]
    rows = task.rows(split)
    if not rows:
        raise BadSetting(f"{task.identity} has no rows in its split {split!r}")
    agents = [named.agent(players[player] or "", task, owned[player], f"{player}.") for player in SEATED[name]]

    def made(first: int, count: int) -> list[Episode]:
        games = list(islice(_games(rows, first), count))
        if name == BRANCHING:
            return designs.branching(task, games, *agents, seed=seed, split=split, rollouts=options.rollouts)
        if name == ADVERSARIAL:
            expert, suboptimal, adversary = agents
            chosen = {"rollouts": options.rollouts, "games": options.games, "before": options.before}
            return designs.adversarial(task, games, expert, adversary, suboptimal, seed=seed, split=split, **chosen)
        return play(task, games, *agents, seed=seed, split=split, live=count)

    return made


def _games(rows: Sequence[Row], first: int) -> Iterator[Game]:
    """All games from number `first` on: the rows in their order, again and again."""
    index = first
    while True:
        yield Game(rows[index % len(rows)], index // len(rows))
        index += 1
