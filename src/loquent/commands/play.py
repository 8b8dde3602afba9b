"""`loquent play`: a person at the terminal plays a task, or watches an agent play it."""

from __future__ import annotations

import sys
from argparse import Namespace
from itertools import islice
from pathlib import Path
from typing import Any

from loquent import episode, named, registry
from loquent.agents.human import colours
from loquent.episode import Episode
from loquent.errors import BadSetting, PlayerLeft
from loquent.play import Game, play, replay
from loquent.seeding import Key
from loquent.task import Row, Task
from loquent.values import escaped


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Play one game, say how it ended, and return its record."""
    mine, agents = named.split((*arguments.overrides, *arguments.option))
    task = named.task(arguments.task, mine)
    if arguments.replay:
        if arguments.agent or agents:
            raise BadSetting("--replay shows what was said; leave out --agent and its options")
        return _replayed(task, Path(arguments.replay), arguments.game)
    player = named.agent(arguments.agent or _person(task), task, agents)
    if arguments.save and not Path(arguments.save).parent.is_dir():  # before the game, which would be lost
        raise BadSetting(f"--save {arguments.save}: there is no folder {Path(arguments.save).parent}")
    try:
        [played] = play(task, [Game(_row(task, arguments))], player, seed=arguments.seed, split=arguments.split)
    except PlayerLeft as left:
        _left(left.unfinished[0], arguments.save)
        raise
    if hasattr(player, "farewell"):  # a person has seen the game
        player.farewell(played)
    else:
        _show(task, played)
    if arguments.save:
        episode.write(arguments.save, [played], append=True)
    return 0, _result(task, played)


def _replayed(task: Task, file: Path, number: int) -> tuple[int, dict[str, Any]]:
    """Play a recorded game again, word for word, show it, and say where the record differs."""
    recorded = next(islice(episode.read(file), number - 1, None), None)
    if recorded is None:
        raise BadSetting(f"{file} has no game {number}; --game counts from 1")
    if recorded.task != task.identity:
        raise BadSetting(f"{file}: game {number} was played on {recorded.task}, not on {task.identity}; give the options it was played with")
    again = replay(task, recorded)
    _show(task, again)
    if again != recorded:
        print(f"loquent: the record of game {number} in {file} differs from the game as it is played", file=sys.stderr)
        return 1, _result(task, again)
    return 0, _result(task, again)


def _show(task: Task, played: Episode) -> None:
    """The turns of a game that nobody has seen, and how it ended."""
    print("\n".join(f"{turn.seat}: {escaped(turn.text.rstrip())}" for turn in played.turns if turn.text.strip()))
    last = played.turns[-1].observation
    picture = task.coloured(last) if last is not None and colours(sys.stdout) else None
    print(picture or "", end="")
    print(f"The game ended: {played.ended}. Rewards: {', '.join(f'{name} {value:g}' for name, value in played.rewards.items()) or 'none'}.")


def _result(task: Task, played: Episode) -> dict[str, Any]:
    total = played.total(task.spec.rewards)
    print(f"Return: {total:g}.")
    found = {"task": task.identity, "row": played.row, "ended": played.ended, "return": total, "rewards": dict(played.rewards)}
    return {**found, "episode": episode.to_json(played)}


def _person(task: Task) -> str:
    """The agent for a person at this task: its own where it has one."""
    own = f"{task.spec.id}/person"
    return own if own in registry.names("agent") else "human"


def _left(played: Episode, file: str | None) -> None:
    """Keep a game that its player left, where it was to be kept, and say what became of it."""
    answers = len(played.answers())
    if not answers:
        said = "nothing was played, so nothing is kept"
    elif not file:
        said = f"the game was left after {answers} answers; --save FILE would have kept it"
    else:
        episode.write(file, [played], append=True)
        said = f"the game was left after {answers} answers, and stands in {file} as one that has not ended"
    print(f"loquent: {said}", file=sys.stderr)


def _row(task: Task, arguments: Namespace) -> Row:
    if arguments.row is not None:
        return task.row(arguments.split, arguments.row)
    rows = task.rows(arguments.split)
    if not rows:
        raise BadSetting(f"{task.identity} has no rows in its split {arguments.split!r}; its splits: {', '.join(task.spec.splits)}")
    return rows[int(Key(arguments.seed, ("row",)).generator().integers(len(rows)))]
