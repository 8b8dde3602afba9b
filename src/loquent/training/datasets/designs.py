"""The designs of `loquent collect`: their options, their players, and how their episodes are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from loquent.core import registry
from loquent.core.episode import Episode
from loquent.core.options import COMMAND_LINE, Node, fill, parse, transport_options, without_transport
from loquent.core.rollout import forks
from loquent.core.rollout.loop import Game, stream
from loquent.core.settings import check_ranges, setting
from loquent.core.task import Row, Task
from loquent.core.values import plain
from loquent.errors import BadSetting, UnknownName
from loquent.training import by_name

GAMES, BRANCHING, ADVERSARIAL = "games", "branching", "adversarial"
DESIGN = "design"
PLAYERS = ("agent", "suboptimal", "adversary")
PlayGames = Callable[[Sequence[int]], Iterator[tuple[int, list[Episode]]]]
"""Plays the games with these numbers; yields the number and the episodes of each game when it has ended."""
TOGETHER = 8  # games of a design that are played at once, with the games beside each


@dataclass(frozen=True, kw_only=True)
class GamesOptions:
    """Options of the design `games`."""

    answers: int = setting(
        1, "games on each row before the next one; several answers to a row can be compared", low=1
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class BranchingOptions:
    """Options of the design `branching`."""

    rollouts: int = setting(
        1,
        "games of the suboptimal player from each state of the expert's game",
        low=1,
        source="20k games x 1: released code of 2206.11871",
    )

    def __post_init__(self) -> None:
        check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class AdversarialOptions:
    """Options of the design `adversarial`."""

    rollouts: int = setting(
        5,
        "games of the adversary from one state of the expert's game",
        low=0,
        source="released code of 2206.11871",
    )
    games: int = setting(
        5,
        "complete games of the suboptimal player beside the expert's game",
        low=0,
        source="released code of 2206.11871",
    )
    before: int = setting(
        3, "the adversary takes over before this answer of the expert", low=1, source="2206.11871 sec. 5"
    )

    def __post_init__(self) -> None:
        check_ranges(self)


OPTIONS: dict[str, type] = {GAMES: GamesOptions, BRANCHING: BranchingOptions, ADVERSARIAL: AdversarialOptions}
PLAYERS_OF: dict[str, tuple[str, ...]] = {
    GAMES: ("agent",),
    BRANCHING: ("agent", "suboptimal"),
    ADVERSARIAL: ("agent", "suboptimal", "adversary"),
}


def by_owner(options: Sequence[str]) -> dict[str, list[str]]:
    """Options by owner: `design`, a player, or "" for the task.

    An option of the design is `design.key=value`; an option of the agent is `agent.key=value`, and so on.
    """
    return by_name.by_owner(options, DESIGN, *PLAYERS)


def read(name: str, players: Mapping[str, str | None], options: Sequence[str]) -> Any:
    """Read the options of a design, and check its players.

    Args:
        players: the name of each player's agent; None if the command names none.
        options: all options of the command, as `owner.key=value`.

    Raises:
        UnknownName: there is no such design.
        BadSetting: an option is unknown or has a wrong value, or a player is missing or superfluous.
    """
    of_tasks = registry.names("design")  # these make their episodes without a player
    if name not in OPTIONS and name not in of_tasks:
        raise UnknownName("design", name, (*OPTIONS, *of_tasks))
    owned, needed = by_owner(options), PLAYERS_OF.get(name, ())
    for player, agent_name in players.items():
        if (agent_name is None) == (player in needed):
            allowed = ", ".join(f"--{option}" for option in needed) or "no player"
            problem = "missing" if agent_name is None else "one too many"
            raise BadSetting(f"--{player} is {problem}: the design {name!r} takes {allowed}")
        if agent_name is None and owned[player]:
            raise BadSetting(
                f"{owned[player][0]} is an option of --{player}, which is missing; add it or remove this"
            )
    schema = OPTIONS[name] if name in OPTIONS else registry.find("design", name).Options
    nodes = by_name.parse_options(owned[DESIGN], f"{DESIGN}.")
    return fill(schema, Node(nodes, COMMAND_LINE, None), f"design {name}")


def inputs(name: str, options: Any) -> str | None:
    """A hash of the files that a design reads; None if it reads none.

    It ensures that a collection is not continued with other files.

    Raises:
        BadSetting: there is no such file.
    """
    if name in OPTIONS:
        return None
    files = registry.find("design", name).files(options)
    for file in files:
        if not file.is_file():
            raise BadSetting(
                f"design {name}: there is no file {str(file)!r}; name another in the design's options"
            )
    digests = b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)
    return hashlib.sha256(digests).hexdigest()[:16]


def identifying_options(players: Mapping[str, str | None], options: Sequence[str]) -> list[str]:
    """The options without those that only say how an agent is reached (`setting(transport=True)`).

    Such options are also removed from agents that are options of the task or of agents.
    """
    owned, remaining = by_owner(options), []
    for text in options:
        owner = next(name for name, texts in owned.items() if text in texts)
        agent_name, (path, _, value) = players.get(owner), text.partition("=")
        if agent_name and (agent_name in registry.names("agent") or ":" in agent_name):
            transport = transport_options(registry.resolve("agent", agent_name))
            if path.strip().removeprefix(f"{owner}.") in transport:
                continue
        if owner != DESIGN:
            option = parse(value, COMMAND_LINE, numbered=False).plain()
            reduced = without_transport(option)
            if reduced != option:
                text = f"{path}={json.dumps(plain(reduced), sort_keys=True)}"
        remaining.append(text)
    return remaining


def player(
    task: Task,
    name: str,
    players: Mapping[str, str | None],
    texts: Sequence[str],
    *,
    seed: int,
    split: str,
    allow_imports: bool = False,
) -> PlayGames:
    """The function that plays games of a design by their numbers, in any order.

    Args:
        name: the design.
        players: the name of each player's agent.
        texts: all options of the command, as `owner.key=value`.
        seed: the key of all random streams.

    Raises:
        UnknownName, BadSetting: see `read`; or the split has no rows.
    """
    options, owned = read(name, players, texts), by_owner(texts)
    if name not in OPTIONS:
        design = registry.find("design", name)(task, options)
        return lambda numbers: ((number, [design.episode(number, seed, split)]) for number in numbers)
    rows = task.rows(split)
    if not rows:
        raise BadSetting(f"{task.identity} has no rows in its split {split!r}; name another split")
    agents = [
        by_name.agent(players[seat] or "", task, owned[seat], f"{seat}.", allow_imports=allow_imports)
        for seat in PLAYERS_OF[name]
    ]

    def plain_games(numbers: Sequence[int]) -> Iterator[tuple[int, list[Episode]]]:
        queue = [_game(rows, number, options.answers) for number in numbers]
        episodes = stream(task, queue, *agents, seed=seed, split=split, live=max(1, len(queue)))
        for place, episode in episodes:
            yield numbers[place], [episode]

    def designed_games(numbers: Sequence[int]) -> Iterator[tuple[int, list[Episode]]]:
        for first in range(0, len(numbers), TOGETHER):
            chunk = numbers[first : first + TOGETHER]
            queue = [_game(rows, number) for number in chunk]
            episodes = _play(name, options, task, queue, agents, seed, split)
            begins = [i for i, episode in enumerate(episodes) if episode.meta["kind"] == forks.EXPERT]
            for number, begin, end in zip(chunk, begins, [*begins[1:], None], strict=True):
                yield number, episodes[begin:end]

    return plain_games if name == GAMES else designed_games


def _play(
    name: str, options: Any, task: Task, queue: list[Game], agents: list[Any], seed: int, split: str
) -> list[Episode]:
    """Play games of a design with forks; the expert's episode of each game comes before its others."""
    if name == BRANCHING:
        return forks.branching(task, queue, *agents, seed=seed, split=split, rollouts=options.rollouts)
    expert, suboptimal, adversary = agents
    return forks.adversarial(
        task,
        queue,
        expert,
        adversary,
        suboptimal,
        seed=seed,
        split=split,
        rollouts=options.rollouts,
        games=options.games,
        before=options.before,
    )


def _game(rows: Sequence[Row], number: int, answers: int = 1) -> Game:
    """The game with this number: `answers` games on each row, the rows in order, repeated."""
    turn, answer = divmod(number, answers)
    return Game(rows[turn % len(rows)], turn // len(rows) * answers + answer)
