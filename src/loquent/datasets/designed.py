"""The designs of `loquent collect`: their options, who plays in them, and how a part of each is made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core import agent, registry
from loquent.core.episode import Episode
from loquent.core.options import COMMAND_LINE, Node, fill, parse
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row, Task
from loquent.core.values import plain
from loquent.errors import BadSetting, UnknownName
from loquent.rollout import forks
from loquent.rollout.loop import Game, stream
from loquent.training import by_name

GAMES, BRANCHING, ADVERSARIAL = "games", "branching", "adversarial"
DESIGN, PLAYERS = (
    "design",
    ("agent", "suboptimal", "adversary"),
)  # whose options stand behind "design." and so on
Shard = Callable[
    [Sequence[int]], Iterator[tuple[int, list[Episode]]]
]  # of each game by its number, as soon as it has ended
TOGETHER = 8  # games of a design that are played at once, each with those that are played beside it


@dataclass(frozen=True)
class GamesOptions:
    """The design `games` has none: plain play."""


@dataclass(frozen=True, kw_only=True)
class BranchingOptions:
    """What the design `branching` may be told."""

    rollouts: int = setting(
        1,
        "games of the suboptimal player from each state of an expert's game",
        low=1,
        source="20k games x 1: released code of 2206.11871",
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class AdversarialOptions:
    """What the design `adversarial` may be told."""

    rollouts: int = setting(
        5,
        "games of the adversary from one state of an expert's game",
        low=0,
        source="released code of 2206.11871",
    )
    games: int = setting(
        5,
        "whole games of the suboptimal player beside an expert's game",
        low=0,
        source="released code of 2206.11871",
    )
    before: int = setting(
        3, "the adversary takes over before this answer of the expert's", low=1, source="2206.11871 sec. 5"
    )

    def __post_init__(self) -> None:
        check_ranges(self)


OPTIONS: dict[str, type] = {GAMES: GamesOptions, BRANCHING: BranchingOptions, ADVERSARIAL: AdversarialOptions}
SEATED: dict[str, tuple[str, ...]] = {
    GAMES: ("agent",),
    BRANCHING: ("agent", "suboptimal"),
    ADVERSARIAL: ("agent", "suboptimal", "adversary"),
}


def by_owner(options: Sequence[str]) -> dict[str, list[str]]:
    """Options by whose they are: the task's under "", those of the design (`design.key=value`) and of the
    players under their names.
    """
    return by_name.owned(options, DESIGN, *PLAYERS)


def read(name: str, players: Mapping[str, str | None], options: Sequence[str]) -> Any:
    """The options of a design; sees that just the players it needs are named, and no others have options.

    Raises:
        UnknownName: no such design. BadSetting: no such option, or a player too many or too few.
    """
    own = registry.names("design")  # those of worlds, which make their episodes without a player
    if name not in OPTIONS and name not in own:
        raise UnknownName("design", name, (*OPTIONS, *own))
    said, seated = by_owner(options), SEATED.get(name, ())
    for player, who in players.items():
        if (who is None) == (player in seated):
            wanted = ", ".join(f"--{needed}" for needed in seated) or "no player"
            raise BadSetting(
                f"--{player} is {'missing' if who is None else 'one too many'}: the design {name!r} "
                f"takes {wanted}"
            )
        if who is None and said[player]:
            raise BadSetting(f"{said[player][0]}: there is no --{player} whose option this could be")
    schema = OPTIONS[name] if name in OPTIONS else registry.find("design", name).Options
    return fill(schema, Node(by_name.given(said[DESIGN], f"{DESIGN}."), COMMAND_LINE, None), f"design {name}")


def inputs(name: str, options: Any) -> str | None:
    """A hash of the files that a design reads, so that a collection is not continued from other files.

    None where it reads none.
    """
    if name in OPTIONS:
        return None
    files = registry.find("design", name).files(options)
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()[
        :16
    ]


def decisive(players: Mapping[str, str | None], options: Sequence[str]) -> list[str]:
    """The options without those that only say how a player is reached (`setting(transport=True)`), in players
    inside players too.
    """
    owned, found = by_owner(options), []
    for text in options:
        owner = next(name for name, texts in owned.items() if text in texts)
        who, (path, _, value) = players.get(owner), text.partition("=")
        if who and (who in registry.names("agent") or ":" in who):
            if path.strip().removeprefix(f"{owner}.") in agent.transport_options(by_name.find("agent", who)):
                continue
            inside = parse(value, COMMAND_LINE, numbered=False).plain()
            kept = agent.without_transport(inside)
            text = text if kept == inside else f"{path}={json.dumps(plain(kept), sort_keys=True)}"
        found.append(text)
    return found


def shards(
    task: Task,
    name: str,
    players: Mapping[str, str | None],
    given: Sequence[str],
    *,
    seed: int,
    split: str,
    allow_imports: bool = False,
) -> Shard:
    """How episodes of a design are made: those of the games of some numbers, whatever was made before."""
    options, owned = read(name, players, given), by_owner(given)
    if name not in OPTIONS:
        design = registry.find("design", name)(task, options)
        return lambda numbers: ((number, [design.episode(number, seed, split)]) for number in numbers)
    rows = task.rows(split)
    if not rows:
        raise BadSetting(f"{task.identity} has no rows in its split {split!r}")
    agents = [
        by_name.agent(players[player] or "", task, owned[player], f"{player}.", allow_imports=allow_imports)
        for player in SEATED[name]
    ]

    def plain_games(numbers: Sequence[int]) -> Iterator[tuple[int, list[Episode]]]:
        queue = [_game(rows, number) for number in numbers]
        for place, episode in stream(task, queue, *agents, seed=seed, split=split, live=max(1, len(queue))):
            yield numbers[place], [episode]

    def designed_games(numbers: Sequence[int]) -> Iterator[tuple[int, list[Episode]]]:
        for first in range(0, len(numbers), TOGETHER):
            some = numbers[first : first + TOGETHER]
            queue = [_game(rows, number) for number in some]
            if name == BRANCHING:
                played = forks.branching(
                    task, queue, *agents, seed=seed, split=split, rollouts=options.rollouts
                )
            else:
                expert, suboptimal, adversary = agents
                chosen = {"rollouts": options.rollouts, "games": options.games, "before": options.before}
                played = forks.adversarial(
                    task, queue, expert, adversary, suboptimal, seed=seed, split=split, **chosen
                )
            begins = [place for place, episode in enumerate(played) if episode.meta["kind"] == forks.EXPERT]
            yield from (
                (number, played[begin:end])
                for number, begin, end in zip(some, begins, [*begins[1:], None], strict=True)
            )

    return plain_games if name == GAMES else designed_games


def _game(rows: Sequence[Row], number: int) -> Game:
    """Game `number` of all games: the rows in their order, again and again."""
    return Game(rows[number % len(rows)], number // len(rows))
