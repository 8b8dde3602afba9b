"""`loquent play`: a person at the terminal plays a task, or watches an agent play it."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from loquent import episode
from loquent.agents.human import Human
from loquent.commands import named
from loquent.episode import Episode
from loquent.errors import BadSetting, PlayerLeft
from loquent.play import Game, play
from loquent.seeding import Key
from loquent.task import Row, Task
from loquent.values import escaped


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Play one game, say how it ended, and return its record."""
    mine, agents = named.split((*arguments.overrides, *arguments.option))
    task = named.task(arguments.task, mine)
    player = named.agent(arguments.agent, task, agents)
    if arguments.save and not Path(arguments.save).parent.is_dir():  # before the game, which would be lost
        raise BadSetting(f"--save {arguments.save}: there is no folder {Path(arguments.save).parent}")
    try:
        [played] = play(task, [Game(_row(task, arguments))], player, seed=arguments.seed, split=arguments.split)
    except PlayerLeft as left:
        _left(left.unfinished[0], arguments.save)
        raise
    total, rewards = played.total(task.spec.rewards), dict(played.rewards)
    if isinstance(player, Human):
        player.farewell(played)
    else:
        print("\n".join(f"{turn.seat}: {escaped(turn.text.rstrip())}" for turn in played.turns if turn.text.strip()))
        print(f"The game ended: {played.ended}. Rewards: {', '.join(f'{name} {value:g}' for name, value in rewards.items()) or 'none'}.")
    print(f"Return: {total:g}.")
    if arguments.save:
        episode.write(arguments.save, [played], append=True)
    return 0, {
        "task": task.identity,
        "row": played.row,
        "ended": played.ended,
        "return": total,
        "rewards": rewards,
        "episode": episode.to_json(played),
    }


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
