"""Going on with a run: which checkpoint it starts from, what refuses it, and that nobody else is writing in its folder."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loquent import checkpoint, manifest
from loquent.errors import AnotherRun, BadCheckpoint
from loquent.settings import Remark

LOGS = ("metrics.jsonl", "timings.jsonl")
LOCK = ".lock"


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a run's folder while it is written; the system lets go of it when the process ends, however it ends.

    Raises:
        BadCheckpoint: another process holds it.
    """
    from filelock import FileLock, Timeout  # torch brings it

    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise BadCheckpoint(f"another process is writing in {folder} now; wait until it has ended, or stop it first") from error
    try:
        yield
    finally:
        lock.release()


def start_of(folder: Path) -> Path | None:
    """The policy of the newest checkpoint that is whole: a resumed run needs neither the model it began with nor its tokenizer's texts."""
    for found in reversed(checkpoint.checkpoints(folder)):
        try:
            manifest.check(found)
        except (BadCheckpoint, OSError, ValueError):
            continue
        if (found / "policy" / "config.json").is_file():
            return found / "policy"
    return None


def resume(trainer: Any, from_older: bool) -> bool:
    """Take back the newest checkpoint that is not refused; False where the run has none yet.

    Raises:
        BadCheckpoint: it is refused, or all are; with the reason of each.
    """
    checkpoint.sweep(trainer.folder)
    found = checkpoint.checkpoints(trainer.folder)
    if not found:
        _begins_again(trainer.folder)
        return False
    refused = _restore(trainer, found, from_older)
    for folder, error in refused:
        warnings.warn(f"{folder.name} is refused and left out: {error}", Remark, stacklevel=3)
    _check_best(trainer, from_older)
    logs = {name: lines_of(trainer, name) for name in LOGS}
    for folder, _ in refused:
        checkpoint.set_aside(folder)
    name_best(trainer)
    for name, lines in logs.items():
        checkpoint.write_aside(trainer.folder / name, "".join(json.dumps(line) + "\n" for line in lines))
    return True


def _restore(trainer: Any, found: Sequence[Path], from_older: bool) -> list[tuple[Path, BadCheckpoint]]:
    """Restore the newest checkpoint that can be; those that were refused before it."""
    refused: list[tuple[Path, BadCheckpoint]] = []
    for place in reversed(range(len(found))):
        try:
            trainer.restore(checkpoint.load(found[place]))
            _whole_log(trainer)
        except BadCheckpoint as error:
            refused.append((found[place], error))
            if not (from_older and place) or isinstance(error, AnotherRun):
                raise BadCheckpoint(_refusal(refused, found[:place])) from error
        else:
            break
    return refused


def _check_best(trainer: Any, from_older: bool) -> None:
    """See that the best checkpoint, which the end of the run needs, is there and whole; with the flag the run goes on without it."""
    if trainer.best_update in (None, trainer.updates):
        return
    best = trainer.folder / "checkpoints" / f"update-{trainer.best_update}"
    try:
        checkpoint.load(best, reference=False)
    except BadCheckpoint as error:
        if not from_older:
            raise BadCheckpoint(
                f"the best checkpoint {best} is refused: {error}. To go on without it, so that only a better one or else the newest is "
                f"evaluated at the end: loquent resume {trainer.folder} --from-older"
            ) from error
        warnings.warn(f"the best checkpoint {best.name} is refused and left out: {error}", Remark, stacklevel=4)
        if best.exists():
            checkpoint.set_aside(best)
        trainer.best_update = None


def name_best(trainer: Any) -> str:
    """Note on disk which checkpoint is the best, where early stopping watches; its name, or "" for none."""
    note = trainer.folder / "checkpoints" / "best.json"
    if trainer.best_update is None:
        note.unlink(missing_ok=True)
        return ""
    name = f"update-{trainer.best_update}"
    checkpoint.write_json(note, {"checkpoint": name})
    return name


def lines_of(trainer: Any, name: str) -> list[dict[str, Any]]:
    """The lines of a log up to the checkpoint; what a kill left behind it is left out, and of timings what is torn too."""
    path = trainer.folder / name
    try:
        return [line for line in checkpoint.read_lines(path, torn_end=True) if line["update"] <= trainer.updates]
    except BadCheckpoint as error:
        if name == "metrics.jsonl":
            raise
        warnings.warn(f"{error}; the seconds before this are left out", Remark, stacklevel=4)
        return []


def _whole_log(trainer: Any) -> None:
    found = [line["update"] for line in lines_of(trainer, "metrics.jsonl")]
    if found != list(range(1, trainer.updates + 1)):
        raise BadCheckpoint(f"metrics.jsonl has {len(found)} lines for the {trainer.updates} updates before it; one for each is right")


def _begins_again(folder: Path) -> None:
    """Say that a run which was killed before its first checkpoint starts from nothing; its log stays to be looked at."""
    log = folder / "metrics.jsonl"
    if not log.is_file() or not log.stat().st_size:
        return
    kept = log.with_name("metrics.before.jsonl")
    os.replace(log, kept)
    why = f"{folder} has no checkpoint yet, so it begins again from update 1"
    how = "training.checkpoint_every says how often one is written"
    warnings.warn(f"{why}; what was logged before is in {kept.name} ({how})", Remark, stacklevel=4)


def _refusal(refused: Sequence[tuple[Path, BadCheckpoint]], older: Sequence[Path]) -> str:
    """Why a run cannot go on, and what can be done."""
    told = "; ".join(f"the checkpoint {folder} is refused: {error}" for folder, error in refused)
    if isinstance(refused[-1][1], AnotherRun):
        return told
    if not older:
        return f"{told}. There is no older one" if len(refused) == 1 else f"{told}. No checkpoint is left"
    names = ", ".join(path.name for path in reversed(older))
    return f"{told}. To go on from an older one ({names}): loquent resume {refused[0][0].parent.parent} --from-older"


def another(name: str, saved: Any, now: Any) -> str:
    """Which part of the identity of a recipe, its rows or a machine is not what it was."""
    if isinstance(now, Mapping) and isinstance(saved, Mapping):
        part = next((part for part in now if saved.get(part) != now[part]), name)
        name, saved, now = (f"{name} {part}" if name == "rows of" else part), saved.get(part), now.get(part, now)
    hint = "; set OMP_NUM_THREADS" if name == "threads" else ""
    return f"its {name} was {saved!r} and is {now!r} now, so it would not be the same run to the bit{hint}"
