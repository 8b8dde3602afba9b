"""Collections: many games, in processes, into one file of episodes; killed and called again, one goes on.

A design plays more beside each game (`designed`). The games are cut into shards of a fixed size, each written aside and renamed when
whole. Streams are keyed by row and number, and the shards are joined in order, so the file does not depend on the number of processes
or on interruptions.
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
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from typing import Any

from tqdm import tqdm

from loquent import __version__, designed, episode, named
from loquent.errors import BadCheckpoint, LoquentError
from loquent.task import Task

PLAN = "collect.json"  # in a collection's folder: what it is
SHARD = 64  # games; a constant, so that the shards of two runs are the same files


@dataclass(frozen=True)
class Plan:
    """What is collected: everything that decides what the episodes are. What is None is not written down."""

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
    inputs: str | None = None  # a hash of the files a design reads

    @property
    def players(self) -> dict[str, str | None]:
        """Who plays, by the option that names them."""
        return {"agent": self.agent, "suboptimal": self.suboptimal, "adversary": self.adversary}

    @property
    def shards(self) -> range:
        """The numbers of the shards."""
        return range(-(-self.episodes // SHARD))


def collect(plan: Plan, task: Task, out: Path, processes: int = 1, *, progress: bool = True) -> dict[str, Any]:
    """Play what is missing of a plan and join the shards into `out/episodes.jsonl`.

    Raises:
        BadCheckpoint: the folder holds another collection.
    """
    fresh = _claim(plan, out)
    file = out / "episodes.jsonl"
    try:
        _play(plan, out, file, processes, progress)
    except LoquentError:
        if fresh and not any(_shard(out, shard).exists() for shard in plan.shards):
            _unclaim(out)  # what was refused leaves nothing that bars the next call
        raise
    shutil.rmtree(out / "shards", ignore_errors=True)
    return _summary(task, file)


def _play(plan: Plan, out: Path, file: Path, processes: int, progress: bool) -> None:
    """Make the missing shards and join them, where that has not been done."""
    if not file.exists():
        (out / "shards").mkdir(exist_ok=True)
        missing = [shard for shard in plan.shards if not _shard(out, shard).exists()]
        done = min(plan.episodes, (len(plan.shards) - len(missing)) * SHARD)
        said = f"{plan.agent or plan.design} plays {plan.task}"
        with tqdm(total=plan.episodes, initial=done, unit="game", desc=said, disable=None if progress else True, file=sys.stderr) as bar:
            for shard in _made(plan, out, missing, processes):
                bar.update(min(SHARD, plan.episodes - shard * SHARD))
        _join(plan, out, file)


def _claim(plan: Plan, out: Path) -> bool:
    """Write down what the folder is for, or see that it is for this; whether it was free before."""
    manifest, now = out / PLAN, {name: value for name, value in json.loads(json.dumps(asdict(plan))).items() if value is not None}
    if manifest.exists():
        before = json.loads(manifest.read_text(encoding="utf-8"))
        if before != now:
            name = next(name for name in (*now, *before) if before.get(name) != now.get(name))
            raise BadCheckpoint(f"{out} holds another collection: {name} is {before.get(name)!r} there and {now.get(name)!r} here; name a new folder")
        return False
    (out / "shards").mkdir(parents=True, exist_ok=True)
    _write_whole(manifest, json.dumps(now, indent=1) + "\n")
    return True


def _unclaim(out: Path) -> None:
    (out / PLAN).unlink(missing_ok=True)
    shutil.rmtree(out / "shards", ignore_errors=True)
    if not any(out.iterdir()):
        out.rmdir()


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


_built: dict[Plan, designed.Shard] = {}  # one process makes task and agents once, not once a shard


def _make(plan: Plan, out: Path, shard: int) -> int:
    if plan not in _built:
        task = named.task(plan.task, designed.by_owner(plan.options)[""])
        _built[plan] = designed.shards(task, plan.design or designed.GAMES, plan.players, plan.options, seed=plan.seed, split=plan.split)
    played = _built[plan](shard * SHARD, min(SHARD, plan.episodes - shard * SHARD))
    aside = _shard(out, shard).with_suffix(f".{os.getpid()}.partial")
    episode.write(aside, played)
    os.replace(aside, _shard(out, shard))
    return shard


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
    ended, kinds, totals = Counter[str](), Counter[str](), defaultdict[str, float](float)
    for one in episode.read(file):
        kind = one.meta.get("kind", "")
        kinds[kind] += 1
        totals[kind] += one.total(task.spec.rewards)
        ended[str(one.ended)] += 1
    count = kinds.total()
    found = {
        "task": task.identity,
        "file": str(file),
        "episodes": count,
        "return": sum(totals.values()) / count,
        "ended": dict(sorted(ended.items())),
    }
    by_kind = {kind: {"episodes": number, "return": totals[kind] / number} for kind, number in kinds.items()}
    return found if set(kinds) == {""} else {**found, "kinds": by_kind}


def _shard(out: Path, number: int) -> Path:
    return out / "shards" / f"{number:06d}.jsonl"


def _write_whole(path: Path, text: str) -> None:
    aside = path.with_suffix(".partial")
    aside.write_text(text, encoding="utf-8")
    os.replace(aside, path)
