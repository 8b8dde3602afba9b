"""`loquent collect`: many games, in processes, into one file of episodes; killed and called again, it goes on.

The games are cut into shards of a fixed size, each written aside and renamed when whole. Streams are keyed by row and number, and
the shards are joined in order, so the file does not depend on the number of processes or on interruptions.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from itertools import islice
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any

from tqdm import tqdm

from loquent import __version__, episode
from loquent.commands import named
from loquent.errors import BadCheckpoint, BadSetting, LoquentError
from loquent.play import Game, play
from loquent.task import Row, Task

SHARD = 64  # games; a constant, so that the shards of two runs are the same files


@dataclass(frozen=True)
class Plan:
    """What is collected: everything that decides what the episodes are."""

    task: str
    options: tuple[str, ...]
    identity: str
    agent: str
    episodes: int
    split: str
    seed: int
    version: str = __version__

    @property
    def shards(self) -> range:
        """The numbers of the shards."""
        return range(-(-self.episodes // SHARD))


def run(arguments: Namespace) -> tuple[int, dict[str, Any]]:
    """Collect, print what there is now, and return it."""
    options = (*arguments.overrides, *arguments.option)
    task = named.task(arguments.task, named.split(options)[0])
    if arguments.agent == "human":
        raise BadSetting(f"--agent human: a person plays game by game, and each is kept: loquent play {arguments.task} --save episodes.jsonl")
    plan = Plan(arguments.task, options, task.identity, arguments.agent, arguments.episodes, arguments.split, arguments.seed)
    result = collect(plan, task, Path(arguments.out), arguments.processes)
    print(f"{result['episodes']} episodes of {task.identity} in {result['file']}; mean return {result['return']:.4g}")
    for ended, count in result["ended"].items():
        print(f"  {count} ended: {ended}")
    return 0, result


def collect(plan: Plan, task: Task, out: Path, processes: int = 1) -> dict[str, Any]:
    """Play what is missing of a plan and join the shards into `out/episodes.jsonl`.

    Raises:
        BadCheckpoint: the folder holds another collection.
    """
    _claim(plan, out)
    file = out / "episodes.jsonl"
    if not file.exists():
        missing = [shard for shard in plan.shards if not _shard(out, shard).exists()]
        done = min(plan.episodes, (len(plan.shards) - len(missing)) * SHARD)
        with tqdm(total=plan.episodes, initial=done, unit="game", desc=f"{plan.agent} plays {plan.task}", disable=None, file=sys.stderr) as bar:
            for shard in _made(plan, out, missing, processes):
                bar.update(min(SHARD, plan.episodes - shard * SHARD))
        _join(plan, out, file)
    shutil.rmtree(out / "shards", ignore_errors=True)
    return _summary(task, file)


def _claim(plan: Plan, out: Path) -> None:
    """Write down what the folder is for, or see that it is for this."""
    manifest, now = out / "collect.json", json.loads(json.dumps(asdict(plan)))
    if manifest.exists():
        before = json.loads(manifest.read_text(encoding="utf-8"))
        if before != now:
            name = next(name for name in now if before.get(name) != now[name])
            raise BadCheckpoint(f"{out} holds another collection: {name} is {before.get(name)!r} there and {now[name]!r} here; name a new folder")
        return
    (out / "shards").mkdir(parents=True, exist_ok=True)
    _write_whole(manifest, json.dumps(now, indent=1) + "\n")


def _made(plan: Plan, out: Path, missing: list[int], processes: int) -> Iterator[int]:
    """Make the missing shards, here or in processes, and yield each one's number when it is whole."""
    if min(processes, len(missing)) <= 1:
        for shard in missing:
            yield _make(plan, out, shard)
        return
    pool = ProcessPoolExecutor(min(processes, len(missing)), mp_context=get_context("spawn"), initializer=_begin)
    try:
        for future in as_completed([pool.submit(_make, plan, out, shard) for shard in missing]):
            yield future.result()
    except BrokenProcessPool as error:
        raise LoquentError("a process of the collection was killed (out of memory?); the same command goes on where it stopped") from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """In a process of the pool: leave Ctrl-C to the parent, and end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (connection.wait([sentinel]), os._exit(1)), daemon=True).start()


_built: dict[Plan, tuple[Task, Any]] = {}  # one process makes task and agent once, not once a shard


def _make(plan: Plan, out: Path, shard: int) -> int:
    if plan not in _built:
        mine, agents = named.split(plan.options)
        task = named.task(plan.task, mine)
        _built[plan] = task, named.agent(plan.agent, task, agents)
    task, agent = _built[plan]
    rows = task.rows(plan.split)
    if not rows:
        raise BadSetting(f"{task.identity} has no rows in its split {plan.split!r}")
    played = play(
        task,
        list(islice(_games(rows, shard * SHARD), min(SHARD, plan.episodes - shard * SHARD))),
        agent,
        seed=plan.seed,
        split=plan.split,
        live=SHARD,
    )
    aside = _shard(out, shard).with_suffix(f".{os.getpid()}.partial")
    episode.write(aside, played)
    os.replace(aside, _shard(out, shard))
    return shard


def _games(rows: Any, first: int) -> Iterator[Game]:
    """All games from number `first` on: the rows in their order, again and again."""
    index = first
    while True:
        row: Row = rows[index % len(rows)]
        yield Game(row, index // len(rows))
        index += 1


def _join(plan: Plan, out: Path, file: Path) -> None:
    aside = file.with_suffix(".partial")
    with aside.open("wb") as joined:
        for shard in plan.shards:
            with _shard(out, shard).open("rb") as part:
                shutil.copyfileobj(part, joined)
        joined.flush()
        os.fsync(joined.fileno())
    os.replace(aside, file)


def _summary(task: Task, file: Path) -> dict[str, Any]:
    count, total, ended = 0, 0.0, Counter[str]()
    for one in episode.read(file):
        count += 1
        total += one.total(task.spec.rewards)
        ended[str(one.ended)] += 1
    return {"task": task.identity, "file": str(file), "episodes": count, "return": total / count, "ended": dict(sorted(ended.items()))}


def _shard(out: Path, number: int) -> Path:
    return out / "shards" / f"{number:06d}.jsonl"


def _write_whole(path: Path, text: str) -> None:
    aside = path.with_suffix(".partial")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)
