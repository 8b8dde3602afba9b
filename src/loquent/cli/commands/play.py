"""`loquent play`: a person at the terminal plays a task, or watches an agent play it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from loquent.agents.human import colours, ending
from loquent.cli.grammar.options import OfEpisodes, option
from loquent.core import episode, registry
from loquent.core.agent import Person
from loquent.core.episode import Episode
from loquent.core.guards.terminal import line, read_line, write_own
from loquent.core.rollout.loop import Game, play, rebuild, replay
from loquent.core.seeding import Key
from loquent.core.task import Row, Task
from loquent.errors import BadSetting, InputEnded, PlayerLeft
from loquent.training import by_name


@dataclass(frozen=True, kw_only=True)
class Options(OfEpisodes):
    """Options of `loquent play`."""

    examples = ("loquent play wordle --option rule=official",)
    agent: str | None = option(
        None,
        "AGENT",
        "the player: you (default), an agent's name, module:Class, or the folder of a run or a model",
    )
    replay: str | None = option(
        None, "FILE", "replay an episode of this JSONL file word for word, instead of playing a new one"
    )
    game: int = option(1, "N", "the number of the episode that --replay shows, from 1", low=1)
    row: str | None = option(None, "ID", "the row to play (default: the seed draws one)")
    save: str | None = option(None, "FILE", "append the episode to this JSONL file")


def run(options: Options) -> tuple[int, dict[str, Any]]:
    """Play an episode, print how it ended and the solution, and return the episode.

    A person at a terminal may play another one.
    """
    of_task, of_agent = by_name.split(options.settings)
    task = by_name.task(options.task, of_task)
    if options.replay:
        if options.agent or of_agent:
            raise BadSetting("--replay shows a recorded episode; leave out --agent and its options")
        return _replayed(task, Path(options.replay), options.game)
    player = by_name.agent(
        options.agent or _person(task), task, of_agent, allow_imports=options.allow_imports
    )
    if options.save:  # checked first, so that no episode is lost
        _check_file(Path(options.save))
    person, number = isinstance(player, Person), 0
    while True:
        try:
            [played] = play(
                task,
                [Game(_row(task, options, number), number)],
                player,
                seed=options.seed,
                split=options.split,
            )
        except PlayerLeft as left:
            _left(left.unfinished[0], options.save)
            if not isinstance(left, InputEnded):
                raise
            return 0, _unfinished(task, left.unfinished[0])
        if person:  # a person has seen the turns
            player.farewell(played)
        else:
            _show(task, played)
        if options.save:
            episode.write(options.save, [played], append=True)
        result = _result(task, played)
        if not person or options.json or not _another():
            return 0, result
        number += 1


def _check_file(file: Path) -> None:
    """Raise BadSetting if no episode can be written to this file."""
    if not file.parent.is_dir():
        raise BadSetting(f"--save {file}: there is no folder {file.parent}; create it, or name another file")
    if file.is_dir():
        raise BadSetting(
            f"--save {file}: this is a folder; name a file in it, such as {file / 'games.jsonl'}"
        )
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise BadSetting(f"--save {file}: you have no permission to write it; name another file")


def _another() -> bool:
    """Whether a person at a terminal wants to play another episode."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    while (text := read_line("Another game? (y or n)> ")) is not None:
        if text.strip().lower() in ("y", "yes", "n", "no", ""):
            return text.strip().lower() in ("y", "yes")
        print("y plays another game, n or Enter ends")
    return False


def _replayed(task: Task, file: Path, number: int) -> tuple[int, dict[str, Any]]:
    """Replay a recorded episode and show it; the exit code is 1 if the replay differs from the record."""
    recorded = next(islice(episode.read(file), number - 1, None), None)
    if recorded is None:
        raise BadSetting(f"{file} has no game {number}; --game counts from 1")
    if recorded.task != task.identity:
        raise BadSetting(
            f"{file}: game {number} was played on {recorded.task}, not on {task.identity}; give the "
            "options it was played with"
        )
    again = replay(task, recorded)
    _show(task, again)
    if again != recorded:
        print(
            f"loquent: the record of game {number} in {file} differs from the game as it is played",
            file=sys.stderr,
        )
        return 1, _result(task, again)
    return 0, _result(task, again)


def _show(task: Task, played: Episode) -> None:
    """Print the turns of an episode and how it ended."""
    print("\n".join(f"{line(turn.seat)}: {turn.text.rstrip()}" for turn in played.turns if turn.text.strip()))
    last = played.turns[-1].observation
    picture = task.render_ansi(last) if last is not None and colours(sys.stdout) else None
    write_own(sys.stdout, picture or "")
    print(ending(played))


def _result(task: Task, played: Episode) -> dict[str, Any]:
    """Print the solution and the return, and return them with the episode."""
    total, solution = played.total(task.spec.rewards), task.solution(rebuild(task, played).step.state)
    if solution is not None:
        print(f"What was right: {solution.strip()}")
    print(f"Return: {total:g}.")
    success = {} if task.is_success(played.ended) is None else {"success": task.is_success(played.ended)}
    result = {
        "task": task.identity,
        "row": played.row,
        "ended": played.ended,
        **success,
        "return": total,
        "rewards": dict(played.rewards),
    }
    return {**result, "solution": solution, "episode": episode.to_json(played)}


def _unfinished(task: Task, played: Episode) -> dict[str, Any]:
    """The result of an episode that its player left."""
    return {
        "task": task.identity,
        "row": played.row,
        "ended": None,
        "rewards": dict(played.rewards),
        "episode": episode.to_json(played),
    }


def _person(task: Task) -> str:
    """The agent through which a person plays this task: the task's own, or "human"."""
    own = f"{task.spec.id}/person"
    return own if own in registry.names("agent") else "human"


def _left(played: Episode, file: str | None) -> None:
    """Save an episode that its player left, if a file is given, and print what happened to it."""
    count = len(played.answers())
    answers = f"{count} answer{'s' * (count != 1)}"
    if not count:
        message = "nothing was played, so nothing is kept"
    elif not file:
        message = f"the game was left after {answers}; --save FILE would have kept it"
    else:
        episode.write(file, [played], append=True)
        message = f"the game was left after {answers}; it is in {file}, as an unfinished episode"
    print(f"loquent: {message}", file=sys.stderr)


def _row(task: Task, options: Options, number: int) -> Row:
    """The row of an episode: the one named by --row for the first episode, else a drawn one."""
    if options.row is not None and not number:
        return task.row(options.split, options.row)
    rows = task.rows(options.split)
    if not rows:
        raise BadSetting(
            f"{task.identity} has no rows in its split {options.split!r}; its splits: "
            f"{', '.join(task.spec.splits)}"
        )
    return rows[
        int(Key(options.seed, ("row", number) if number else ("row",)).generator().integers(len(rows)))
    ]
