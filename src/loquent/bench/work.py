"""One run of a suite: made, gone on with, or found finished in its folder.

Nothing that lies there is ever deleted.
"""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from loquent.bench import collecting, ranking
from loquent.bench.jobs import Job
from loquent.bench.sets import SetJob
from loquent.core.agent import make as make_agent
from loquent.core.metric import Context
from loquent.core.values import EMPTY, frozen, plain
from loquent.errors import BadCheckpoint, LoquentError, NotTrusted
from loquent.files import atomic, manifest
from loquent.files.run_folder import RunFolder
from loquent.files.run_logs import read_log
from loquent.machine.version import __version__
from loquent.recipes import Recipe
from loquent.rewards import compose
from loquent.training.evaluate import Evaluation, evaluate_agent
from loquent.training.metrics import build_metrics
from loquent.training.run import load_run
from loquent.training.start import make_task
from loquent.training.train import train


@dataclass(frozen=True)
class Outcome:
    """What became of a run: its evaluation, or why there is none.

    `logged`: the last line of its metrics.jsonl. `fresh`: it was made now. `note`: what became of what lay in
        its folder.
    `version` and `threads`: Loquent's and torch's it was made with; "" and 0 where an older version has not
    written them.
    """

    key: str
    evaluation: dict[str, Any] | None = None
    failure: str = ""
    seconds: float = 0.0
    fresh: bool = True
    note: str = ""
    version: str = ""
    threads: int = 0
    logged: Mapping[str, Any] = EMPTY
    figures: Mapping[str, Any] | None = None  # of a set of recorded episodes, which has no evaluation


def finished(job: Job | SetJob) -> Outcome | None:
    """The outcome of a run that an earlier call has finished; None where it is still to be made.

    Raises:
        BadCheckpoint: the folder holds a run of other settings, finished or not.
    """
    if isinstance(job, SetJob):
        figures = collecting.finished(job)
        return (
            None
            if figures is None
            else Outcome(job.key, fresh=False, version=str(figures["loquent"]), figures=figures)
        )
    try:
        done = manifest.load(RunFolder(job.folder).suite, "delete it")
        evaluation = RunFolder(job.folder).evaluation()
        known, seconds = str(done["key"]), float(done["seconds"])
        version, threads = str(done["loquent"]), int(done["threads"])
    except (BadCheckpoint, ValueError, KeyError, TypeError, OverflowError):
        if RunFolder(job.folder).config.exists() and (job.agent or not _same(job.folder, job.recipe)):
            raise _another(job) from None
        return None
    if known != job.key:
        raise _another(job)
    if job.ranks:
        ranked = ranking.known(job.folder, job.ranks)
        if ranked is None:
            return None
        evaluation = ranking.joined(evaluation, ranked)
    return Outcome(
        job.key,
        evaluation,
        seconds=seconds,
        fresh=False,
        version=version,
        threads=threads,
        logged=_logged(job.folder),
    )


def _another(job: Job) -> BadCheckpoint:
    return BadCheckpoint(
        f"{job.folder} holds a run of other settings than this suite has now; name a new folder, or "
        "move that one away"
    )


def _logged(folder: Path) -> Mapping[str, Any]:
    """The last line of the log; empty where there is none."""
    try:
        return frozen(list(read_log(RunFolder(folder).logs.metrics, torn_end=True))[-1])
    except (BadCheckpoint, OSError, IndexError):
        return EMPTY


def make(job: Job | SetJob, progress: bool = False) -> Outcome:
    """Make a run, whatever happens: an error becomes the outcome's `failure`, and its traceback `failure.txt`
    in the folder.
    """
    before = time.perf_counter()
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
        RunFolder(job.folder).failure.unlink(missing_ok=True)
        if isinstance(job, SetJob):
            figures = collecting.make(job, progress)
            return Outcome(
                job.key, version=__version__, seconds=round(time.perf_counter() - before, 1), figures=figures
            )
        evaluation, note = (_played(job), "") if job.agent else _trained(job, progress)
        if job.ranks:
            evaluation = ranking.joined(evaluation, ranking.made(job.folder, job.ranks))
        made = Outcome(
            job.key,
            evaluation,
            note=note,
            version=__version__,
            threads=torch.get_num_threads(),
            logged=_logged(job.folder),
        )
        made = replace(made, seconds=round(time.perf_counter() - before, 1))
        done = {"key": made.key, "seconds": made.seconds, "threads": made.threads, "loquent": made.version}
        atomic.write_json(RunFolder(job.folder).suite, manifest.sealed(done))
        return made
    except Exception as error:  # one run that fails must not end the others
        kind = "" if isinstance(error, LoquentError) else f"{type(error).__name__}: "
        _note(job.folder, traceback.format_exc())
        return Outcome(
            job.key, failure=f"{kind}{error}" or type(error).__name__, seconds=time.perf_counter() - before
        )


def _trained(job: Job, progress: bool) -> tuple[dict[str, Any], str]:
    """Train, or go on where an earlier call has stopped.

    And what became of a checkpoint that was refused, in words.

    Raises:
        BadCheckpoint: the folder holds a run of other settings; or it cannot be written.
    """
    folder, note = job.folder, ""
    if RunFolder(folder).config.exists():
        if not _same(folder, job.recipe):
            raise _another(job)
        if RunFolder(folder).has_ended:
            return load_run(folder).evaluation, ""
        for from_older in (False, True):
            try:
                return train(
                    job.recipe, folder, progress=progress, resume=True, from_older=from_older
                ).evaluation, note
            except BadCheckpoint as error:
                if not isinstance(
                    error.__cause__, BadCheckpoint
                ):  # not a checkpoint that is refused: a full disk, say
                    raise
                note = f"went on from an older checkpoint: {error}"
                refused = str(error)
        aside = _aside(folder)
        atomic.move(folder, aside)
        note = f"begun anew, and what was there is now {aside.name}: {refused}"
    return train(job.recipe, folder, progress=progress).evaluation, note


def _aside(folder: Path) -> Path:
    """A name that is free, for a run that cannot be gone on with."""
    names = itertools.chain(
        [f"{folder.name}.refused"], (f"{folder.name}.refused-{n}" for n in itertools.count(2))
    )
    return next(path for name in names if not (path := folder.with_name(name)).exists())


def _same(folder: Path, recipe: Recipe) -> bool:
    try:
        return load_run(folder).recipe.fingerprint == recipe.fingerprint
    except NotTrusted:
        raise
    except (LoquentError, OSError, ValueError):
        return False


def _played(job: Job) -> dict[str, Any]:
    """Let a script play the recipe's evaluation."""
    settings, task = job.recipe.training, make_task(job.recipe)
    context = Context(task=task)
    terms, weights = compose.build(job.recipe.rewards, context)
    found: Evaluation = evaluate_agent(
        task,
        make_agent(job.agent, task),
        split=settings.final_split,
        episodes=settings.final_episodes,
        seed=settings.seed,
        metrics=build_metrics(job.recipe.metrics, context),
        terms=terms,
        weights=weights,
    )
    RunFolder(job.folder).write_evaluation({"agent": plain(job.agent), **found.as_json()}, found.episodes)
    return found.as_json()


def _note(folder: Path, text: str) -> None:
    with suppress(OSError):  # a full disk, perhaps; the failure itself is in the table
        RunFolder(folder).failure.write_text(text, encoding="utf-8")
