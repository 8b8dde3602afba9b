"""Collections: many games, in processes, into one file of episodes; killed and called again, one goes on.

A design plays more beside each game (`designed`). The games are cut into shards of a fixed size. Each game is
kept in its shard's journal as soon as it has ended, so an interruption loses only games under way; a whole
shard is written aside and renamed. Streams are keyed by row and number, and the shards are joined in order,
so the file does not depend on the number of processes or on interruptions.
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
from loquent.datasets import designed, journal
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files import atomic, names
from loquent.machine.version import __version__
from loquent.training import by_name

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
    """Play what is missing of a plan and join the shards into `out/episodes.jsonl`.

    Args:
        allow_imports: import code that the recipe of a run that plays names, wherever the run lies; otherwise
            as `loquent.core.guards.trust` says.

    Raises:
        BadCheckpoint: the folder holds another collection. Damaged: a game that was kept is not what was
            written.
    """
    fresh = _claim(plan, task, out)
    file = out / names.EPISODES
    try:
        _play(plan, out, file, processes, progress, allow_imports)
    except LoquentError:
        if fresh and not _kept_games(plan, out):
            _unclaim(out)  # what was refused leaves nothing that bars the next call
        raise
    except KeyboardInterrupt:
        print(
            f"{_kept_games(plan, out)} of {plan.episodes} games are kept in {out}; the same command goes on",
            file=sys.stderr,
        )
        raise
    shutil.rmtree(out / "shards", ignore_errors=True)
    return _summary(task, file)


def _play(plan: Plan, out: Path, file: Path, processes: int, progress: bool, allow_imports: bool) -> None:
    """Make the missing shards and join them, where that has not been done."""
    if not file.exists():
        (out / "shards").mkdir(exist_ok=True)
        missing = [shard for shard in plan.shards if not _shard(out, shard).exists()]
        said, done = f"{plan.agent or plan.design} plays {plan.task}", _kept_games(plan, out)
        with tqdm(
            total=plan.episodes,
            initial=done,
            unit="game",
            desc=line(said),
            disable=None if progress else True,
            file=sys.stderr,
        ) as bar:
            for games in _made(plan, out, missing, processes, allow_imports):
                bar.update(games)
        _join(plan, out, file)


def _kept_games(plan: Plan, out: Path) -> int:
    """How many games have been played: those of whole shards, and those in journals."""
    numbers = {shard: plan.numbers(shard) for shard in plan.shards}
    whole = sum(len(numbers[shard]) for shard in plan.shards if _shard(out, shard).exists())
    return whole + sum(
        len(journal.read(_journal(out, shard), numbers[shard])[0])
        for shard in plan.shards
        if not _shard(out, shard).exists()
    )


def _claim(plan: Plan, task: Task, out: Path) -> bool:
    """Write down what the folder is for, or see that it is for this; whether it was free before.

    Options that only say how a player is reached are no part of it.
    The weights of the task's rewards stand beside it, for those who rank the episodes.
    """
    manifest, now = (
        out / PLAN,
        {
            name: value
            for name, value in json_files.loads(json.dumps(asdict(plan))).items()
            if value is not None
        },
    )
    now["options"] = designed.decisive(plan.players, plan.options)
    if manifest.exists():
        before = json_files.load_object(manifest, "name a new folder, or move that one away")
        before.pop("weights", None)  # the identity decides them
        if before != now:
            name = next(name for name in (*now, *before) if before.get(name) != now.get(name))
            raise BadCheckpoint(
                f"{out} holds another collection: {name} is {before.get(name)!r} there and "
                f"{now.get(name)!r} here; name a new folder"
            )
        return False
    (out / "shards").mkdir(parents=True, exist_ok=True)
    atomic.write_text(manifest, json.dumps({**now, "weights": dict(task.spec.rewards)}, indent=1) + "\n")
    return True


def _unclaim(out: Path) -> None:
    (out / PLAN).unlink(missing_ok=True)
    shutil.rmtree(out / "shards", ignore_errors=True)
    if not any(out.iterdir()):
        out.rmdir()


def _made(plan: Plan, out: Path, missing: list[int], processes: int, allow_imports: bool) -> Iterator[int]:
    """Make the missing shards, here or in processes, and yield how many games have ended since."""
    if min(processes, len(missing)) <= 1:
        for shard in missing:
            yield from _make(plan, out, shard, allow_imports)
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(
        min(processes, len(missing)), mp_context=get_context("spawn"), initializer=_begin
    )
    try:
        for future in as_completed(
            [pool.submit(_make_whole, plan, out, shard, allow_imports) for shard in missing]
        ):
            yield future.result()
    except BrokenProcessPool as error:
        raise LoquentError(
            "a process of the collection was killed (out of memory?); the same command goes on "
            "where it stopped"
        ) from error
    except BaseException:  # Ctrl-C among them: no game under way is waited for
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin() -> None:
    """In a process of the pool: escape what is written, leave Ctrl-C to the parent, and end when the parent
    is gone.
    """
    guard()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        sentinel = parent.sentinel
        threading.Thread(target=lambda: (connection.wait([sentinel]), os._exit(1)), daemon=True).start()


_built: dict[Plan, designed.Shard] = {}  # one process makes task and agents once, not once a shard


def _make_whole(plan: Plan, out: Path, shard: int, allow_imports: bool) -> int:
    """Make a shard; returns how many of its games were played now."""
    return sum(_make(plan, out, shard, allow_imports))


def _make(plan: Plan, out: Path, shard: int, allow_imports: bool) -> Iterator[int]:
    """Play the games of a shard that are not in its journal, and write it.

    Yields 1 for each that has ended.
    """
    if plan not in _built:
        task = by_name.task(plan.task, designed.by_owner(plan.options)[""])
        how: dict[str, Any] = {"seed": plan.seed, "split": plan.split, "allow_imports": allow_imports}
        _built[plan] = designed.shards(task, plan.design or designed.GAMES, plan.players, plan.options, **how)
    with journal.Journal(_journal(out, shard), plan.numbers(shard)) as kept:
        for number, episodes in _built[plan](kept.missing):
            kept.add(number, episodes)
            yield 1
        journal.write_shard(_shard(out, shard), kept.whole())
    _journal(out, shard).unlink(missing_ok=True)


def _join(plan: Plan, out: Path, file: Path) -> None:
    with atomic.replacing(file) as aside, aside.open("wb") as joined:  # closed, then renamed
        for shard in plan.shards:
            joined.write(journal.read_shard(_shard(out, shard)))


def _summary(task: Task, file: Path) -> dict[str, Any]:
    ended, kinds, totals = Counter[str](), Counter[str](), defaultdict[str, float](float)
    for one in episode.read(file):
        kind = one.meta.get("kind", "")
        kinds[kind] += 1
        totals[kind] += one.total(task.spec.rewards)
        ended[str(one.ended)] += 1
    count = kinds.total()
    successes = sum(number for name, number in ended.items() if name in task.spec.success)
    found = {
        "task": task.identity,
        "file": str(file),
        "episodes": count,
        **({"success": successes / count} if task.spec.success else {}),
        "return": sum(totals.values()) / count,
        "ended": dict(sorted(ended.items())),
    }
    by_kind = {kind: {"episodes": number, "return": totals[kind] / number} for kind, number in kinds.items()}
    return found if set(kinds) == {""} else {**found, "kinds": by_kind}


def _shard(out: Path, number: int) -> Path:
    return out / "shards" / f"{number:06d}.jsonl"


def _journal(out: Path, number: int) -> Path:
    return out / "shards" / f"{number:06d}.journal"
