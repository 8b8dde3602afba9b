"""Make one job of a suite, continue it, or read its results if it is finished.

No earlier run or checkpoint is ever deleted.
"""

from __future__ import annotations

import itertools
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from loquent.bench import collecting, ranking
from loquent.bench.evidence import episode_scores, stopping
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.jobs import Job
from loquent.bench.schema.sets import SetJob
from loquent.core.agent import make as make_agent
from loquent.core.values import EMPTY, freeze, plain
from loquent.errors import BadCheckpoint, LoquentError, NotTrusted
from loquent.files import atomic, manifest
from loquent.files.machine.version import __version__
from loquent.files.run_folder import RunFolder
from loquent.files.run_logs import read_log
from loquent.training import extending, recipes
from loquent.training.evaluate import evaluate_by
from loquent.training.identity import all_settings, differences
from loquent.training.run import load_run
from loquent.training.start import make_task
from loquent.training.train import train


def find_outcome(job: Job | SetJob) -> Outcome | None:
    """The outcome of a job that an earlier call has finished; None if it is not finished.

    Raises:
        BadCheckpoint: the folder holds a run of other settings, finished or not.
    """
    if isinstance(job, SetJob):
        figures = collecting.find_figures(job)
        if figures is None:
            return None
        return Outcome(job.key, fresh=False, version=str(figures["loquent"]), figures=figures)
    try:
        record = manifest.load(RunFolder(job.folder).suite, "delete it")
        evaluation = RunFolder(job.folder).evaluation()
        key, seconds = str(record["key"]), float(record["seconds"])
        version, threads = str(record["loquent"]), int(record["threads"])
    except (BadCheckpoint, ValueError, KeyError, TypeError, OverflowError):
        if RunFolder(job.folder).config.exists() and (job.agent or not _continues(job)):
            raise _other_settings(job) from None
        return None
    if key != job.key:
        if not (job.extends and _continues(job)):
            raise _other_settings(job)
        if extending.stopped_at(RunFolder(job.folder), job.recipe) is None:
            return None
        seconds = 0.0  # more updates change nothing
    numbers = episode_scores.read(RunFolder(job.folder), job.recipe, evaluation)
    if job.ranks:
        shares = ranking.load(job.folder, job.ranks)
        if shares is None:
            return None
        evaluation = ranking.with_shares(evaluation, shares)
    return Outcome(
        job.key,
        evaluation,
        seconds=seconds,
        fresh=False,
        version=version,
        threads=threads,
        logged=_last_line(job.folder),
        played=numbers,
        stopped=stopping.read(RunFolder(job.folder), job.recipe, evaluation),
    )


def _other_settings(job: Job) -> BadCheckpoint:
    folder, differing = RunFolder(job.folder), ""
    with suppress(LoquentError, OSError, ValueError):  # a config.yaml that cannot be read has no differences
        theirs = recipes.load(folder.config, folder.overrides(), imports="none", begun=True)
        differing = differences(all_settings(theirs), all_settings(job.recipe))
    detail = f": {differing}" if differing else ""
    return BadCheckpoint(
        f"{job.folder} holds a run of other settings than those of the suite{detail}; name a new folder, or "
        "move that one away"
    )


def _last_line(folder: Path) -> Mapping[str, Any]:
    """The last line of a run's metrics.jsonl; empty if there is none."""
    try:
        return freeze(list(read_log(RunFolder(folder).logs.metrics, torn_end=True))[-1])
    except (BadCheckpoint, OSError, IndexError):
        return EMPTY


def make(job: Job | SetJob, progress: bool = False) -> Outcome:
    """Make a job; an error becomes the outcome's `failure`, and its traceback is written to `failure.txt`."""
    start = time.perf_counter()
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
        RunFolder(job.folder).failure.unlink(missing_ok=True)
        if isinstance(job, SetJob):
            figures = collecting.make(job, progress)
            return Outcome(
                job.key, version=__version__, seconds=round(time.perf_counter() - start, 1), figures=figures
            )
        evaluation, note = (_play(job), "") if job.agent else _train(job, progress)
        if job.ranks:
            evaluation = ranking.with_shares(evaluation, ranking.make(job.folder, job.ranks))
        outcome = Outcome(
            job.key,
            evaluation,
            note=note,
            version=__version__,
            threads=torch.get_num_threads(),
            logged=_last_line(job.folder),
            played=episode_scores.read(RunFolder(job.folder), job.recipe, evaluation),
            stopped=stopping.read(RunFolder(job.folder), job.recipe, evaluation),
        )
        outcome = replace(outcome, seconds=round(time.perf_counter() - start, 1))
        record = {
            "key": outcome.key,
            "seconds": outcome.seconds,
            "threads": outcome.threads,
            "loquent": outcome.version,
        }
        atomic.write_json(RunFolder(job.folder).suite, manifest.add_seal(record))
        return outcome
    except Exception as error:  # one run that fails must not end the others
        kind = "" if isinstance(error, LoquentError) else f"{type(error).__name__}: "
        _write_failure(job.folder, traceback.format_exc())
        return Outcome(
            job.key, failure=f"{kind}{error}" or type(error).__name__, seconds=time.perf_counter() - start
        )


def _train(job: Job, progress: bool) -> tuple[dict[str, Any], str]:
    """Train a run, or continue it; returns the evaluation and a note on refused checkpoints.

    Raises:
        BadCheckpoint: the folder holds a run of other settings, or it cannot be written.
    """
    folder, updates, note = job.folder, job.recipe.training.updates, ""
    if RunFolder(folder).config.exists():
        if not _continues(job):
            raise _other_settings(job)
        if RunFolder(folder).has_ended and load_run(folder).recipe.training.updates == updates:
            return load_run(folder).evaluation, ""
        for from_older in (False, True):
            try:
                run = train(job.recipe, folder, progress=progress, resume=True, from_older=from_older)
                return run.evaluation, note
            except BadCheckpoint as error:
                if not isinstance(error.__cause__, BadCheckpoint):  # no refused checkpoint: a full disk, say
                    raise
                note = f"continued from an older checkpoint: {error}"
                refused = str(error)
        moved = _free_name(folder)
        atomic.move(folder, moved)
        note = f"begun anew; the earlier run is now in {moved.name}: {refused}"
    return train(job.recipe, folder, progress=progress).evaluation, note


def _free_name(folder: Path) -> Path:
    """A path that does not exist, for a run that cannot be continued."""
    names = itertools.chain(
        [f"{folder.name}.refused"], (f"{folder.name}.refused-{n}" for n in itertools.count(2))
    )
    return next(path for name in names if not (path := folder.with_name(name)).exists())


def _continues(job: Job) -> bool:
    """Whether the folder holds the run of a job, or one of fewer updates that the job extends."""
    try:
        recipe, updates = load_run(job.folder).recipe, job.recipe.training.updates
        if job.extends and recipe.training.updates < updates:
            recipe = replace(recipe, training=replace(recipe.training, updates=updates))
        return recipe.fingerprint == job.recipe.fingerprint
    except NotTrusted:
        raise
    except (LoquentError, OSError, ValueError):
        return False


def _play(job: Job) -> dict[str, Any]:
    """Evaluate the job's agent, without training, on the recipe's evaluation."""
    settings, task = job.recipe.training, make_task(job.recipe)
    evaluation = evaluate_by(
        job.recipe,
        task,
        make_agent(job.agent, task),
        split=settings.final_split,
        episodes=settings.final_episodes,
        seed=settings.seed,
    )
    content = {"agent": plain(job.agent), **evaluation.as_json()}
    RunFolder(job.folder).write_evaluation(content, evaluation.episodes, evaluation.samples)
    return evaluation.as_json()


def _write_failure(folder: Path, text: str) -> None:
    with suppress(OSError):  # perhaps the disk is full; the tables hold the failure
        RunFolder(folder).failure.write_text(text, encoding="utf-8")
