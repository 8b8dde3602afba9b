"""Collections: many games, played in several processes and written to one file of episodes.

A collection that was interrupted continues when it is called again. A design may play more games beside each
game (`designs`). Games are divided into shards of a fixed size. A finished game is written to its shard's
journal at once, so an interruption loses only running games. A finished shard is written to a temporary file
and renamed. Random streams are keyed by row and number, and the shards are joined in order. So the file does
not depend on the number of processes or on interruptions.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from multiprocessing import active_children, connection, get_context, parent_process
from pathlib import Path
from typing import Any

from tqdm import tqdm

from loquent.core import episode
from loquent.core.guards import json_files
from loquent.core.guards.terminal import guard, line
from loquent.core.task import Task
from loquent.data import content
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files import atomic, names
from loquent.files.machine.version import __version__
from loquent.training import by_name
from loquent.training.datasets import designs, journal

PLAN = "collect.json"  # the file in a collection's folder that holds its plan
SHARD = 64  # games in a shard; a constant, so that an interrupted collection finds its shards


@dataclass(frozen=True)
class Plan:
    """What is collected: all settings that determine the episodes. Fields that are None are not stored."""

    task: str
    options: tuple[str, ...]
    identity: str
    agent: str | None
    episodes: int
    split: str
    seed: int
    version: str = __version__
    design: str | None = None
    suboptimal: str | None = None
    adversary: str | None = None
    inputs: str | None = None  # a hash of the files that the design reads

    @property
    def players(self) -> dict[str, str | None]:
        """The name of each player's agent, by the option that names it."""
        return {"agent": self.agent, "suboptimal": self.suboptimal, "adversary": self.adversary}

    @property
    def shards(self) -> range:
        """The numbers of the shards."""
        return range(-(-self.episodes // SHARD))

    def numbers(self, shard: int) -> range:
        """The numbers of a shard's games."""
        return range(shard * SHARD, min((shard + 1) * SHARD, self.episodes))


def collect(
    plan: Plan,
    task: Task,
    out: Path,
    processes: int = 1,
    *,
    progress: bool = True,
    allow_imports: bool = False,
) -> dict[str, Any]:
    """Play the missing games of a plan and join the shards into `out/episodes.jsonl`.

    Args:
        allow_imports: if a player is a run, import the code that its recipe names, wherever the run lies;
            otherwise `loquent.files.trust` decides.

    Returns:
        The file, the number of episodes, their mean return, the counts of endings, and figures by kind.

    Raises:
        BadCheckpoint: the folder holds another collection.
        Damaged: a stored game is damaged.
    """
    fresh = _write_plan(plan, task, out)
    file = out / names.EPISODES
    try:
        _play(plan, out, file, processes, progress, allow_imports)
    except LoquentError:
        if fresh and not _finished_games(plan, out):
            _remove_plan(out)  # so that the next call can use the folder for another plan
        raise
    except KeyboardInterrupt:
        finished = f"{_finished_games(plan, out)} of {plan.episodes} games are finished and stored in {out}"
        print(f"{finished}; the same command continues", file=sys.stderr)
        raise
    shutil.rmtree(out / "shards", ignore_errors=True)
    return _summary(task, file)


def _play(plan: Plan, out: Path, file: Path, processes: int, progress: bool, allow_imports: bool) -> None:
    """Make the missing shards and join them, if the joined file does not exist."""
    _players.clear()  # files of rows and agents may have changed since an earlier collection
    if not file.exists():
        (out / "shards").mkdir(exist_ok=True)
        missing = [shard for shard in plan.shards if not _shard(out, shard).exists()]
        with tqdm(
            total=plan.episodes,
            initial=_finished_games(plan, out),
            unit="game",
            desc=line(f"{plan.agent or plan.design} plays {plan.task}"),
            disable=None if progress else True,
            file=sys.stderr,
        ) as bar:
            for games in _make_shards(plan, out, missing, processes, allow_imports):
                bar.update(games)
        _join(plan, out, file)


def _finished_games(plan: Plan, out: Path) -> int:
    """The number of finished games, in finished shards and in journals."""
    count = 0
    for shard in plan.shards:
        numbers = plan.numbers(shard)
        finished = _shard(out, shard).exists()
        count += len(numbers) if finished else len(journal.read(_journal(out, shard), numbers)[0])
    return count


def _write_plan(plan: Plan, task: Task, out: Path) -> bool:
    """Write the plan, or check that the folder holds the same plan; returns whether it held none.

    Transport options, which say how a player is reached, are not compared; the content of the files of rows
    is. The weights of the task's rewards
    are stored beside the plan, for commands that rank the episodes.
    """
    file = out / PLAN
    fields = json_files.loads(json.dumps(asdict(plan)))
    new = {name: value for name, value in fields.items() if value is not None}
    new["options"] = designs.identifying_options(plan.players, plan.options)
    if data := content.of_task(task):
        new["data"] = data
    if file.exists():
        stored = json_files.load_object(file, "name a new folder, or move that one away")
        stored.pop("weights", None)  # the task's identity determines them
        if stored != new:
            name = next(name for name in (*new, *stored) if stored.get(name) != new.get(name))
            raise BadCheckpoint(
                f"{out} holds another collection: {name} is {stored.get(name)!r} there and "
                f"{new.get(name)!r} here; name a new folder"
            )
        return False
    (out / "shards").mkdir(parents=True, exist_ok=True)
    atomic.write_text(file, json.dumps({**new, "weights": dict(task.spec.rewards)}, indent=1) + "\n")
    return True


def _remove_plan(out: Path) -> None:
    (out / PLAN).unlink(missing_ok=True)
    shutil.rmtree(out / "shards", ignore_errors=True)
    if not any(out.iterdir()):
        out.rmdir()


def _make_shards(
    plan: Plan, out: Path, missing: list[int], processes: int, allow_imports: bool
) -> Iterator[int]:
    """Make the missing shards, here or in several processes; yields numbers of games that have ended."""
    if min(processes, len(missing)) <= 1:
        for shard in missing:
            yield from _make_shard(plan, out, shard, allow_imports)
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(
        min(processes, len(missing)), mp_context=get_context("spawn"), initializer=_start_worker
    )
    try:
        for future in as_completed(
            [pool.submit(_count_made, plan, out, shard, allow_imports) for shard in missing]
        ):
            yield future.result()
    except BrokenProcessPool as error:
        raise LoquentError(
            "a process of the collection was killed, perhaps for lack of memory; call the same command "
            "again to continue"
        ) from error
    except BaseException:  # Ctrl-C too: do not wait for running games
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)  # its thread must have ended before the exit of Python wakes it


def _start_worker() -> None:
    """Prepare a process of the pool.

    It escapes what it prints, leaves Ctrl-C to its parent, and exits when the parent has ended.
    """
    guard()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (connection.wait([sentinel]), os._exit(1)), daemon=True).start()


_players: dict[Plan, designs.PlayGames] = {}  # a process makes the task and the agents once


def _count_made(plan: Plan, out: Path, shard: int, allow_imports: bool) -> int:
    """Make a shard; returns the number of games that this call played."""
    return sum(_make_shard(plan, out, shard, allow_imports))


def _make_shard(plan: Plan, out: Path, shard: int, allow_imports: bool) -> Iterator[int]:
    """Play the games that are not in the shard's journal, and write the shard.

    Yields 1 for each game that has ended.
    """
    if plan not in _players:
        _players[plan] = designs.player(
            by_name.task(plan.task, designs.by_owner(plan.options)[""]),
            plan.design or designs.GAMES,
            plan.players,
            plan.options,
            seed=plan.seed,
            split=plan.split,
            allow_imports=allow_imports,
        )
    with journal.Journal(_journal(out, shard), plan.numbers(shard)) as games:
        for number, episodes in _players[plan](games.missing):
            games.add(number, episodes)
            yield 1
        journal.write_shard(_shard(out, shard), games.text())
    _journal(out, shard).unlink(missing_ok=True)


def _join(plan: Plan, out: Path, file: Path) -> None:
    with atomic.replacing(file) as temporary, temporary.open("wb") as joined:  # closed, then renamed
        for shard in plan.shards:
            joined.write(journal.read_shard(_shard(out, shard)))


def _summary(task: Task, file: Path) -> dict[str, Any]:
    ended, kinds, totals = Counter[str](), Counter[str](), defaultdict[str, float](float)
    for played in episode.read(file):
        kind = played.meta.get("kind", "")
        kinds[kind] += 1
        totals[kind] += played.total(task.spec.rewards)
        ended[str(played.ended)] += 1
    count = kinds.total()
    successes = sum(number for name, number in ended.items() if name in task.spec.success)
    summary = {
        "task": task.identity,
        "file": str(file),
        "episodes": count,
        **({"success": successes / count} if task.spec.success else {}),
        "return": sum(totals.values()) / count,
        "ended": dict(sorted(ended.items())),
    }
    by_kind = {kind: {"episodes": number, "return": totals[kind] / number} for kind, number in kinds.items()}
    return summary if set(kinds) == {""} else {**summary, "kinds": by_kind}


def _shard(out: Path, number: int) -> Path:
    return out / "shards" / f"{number:06d}.jsonl"


def _journal(out: Path, number: int) -> Path:
    return out / "shards" / f"{number:06d}.journal"
