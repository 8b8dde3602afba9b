"""One run of a suite: made, gone on with, or found finished in its folder."""

from __future__ import annotations

import json
import shutil
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loquent import checkpoint, episode
from loquent.agent import make as make_agent
from loquent.bench.jobs import Job
from loquent.errors import BadCheckpoint, LoquentError
from loquent.evaluate import Evaluation, build_metrics, evaluate_agent
from loquent.metric import Context
from loquent.recipe import Recipe
from loquent.rewards import compose
from loquent.run import load_run
from loquent.start import make_task
from loquent.train import train

DONE = "bench.json"  # in a run's folder: which run it is, and that it has come to its end


@dataclass(frozen=True)
class Outcome:
    """What became of a run: its evaluation, or why there is none. `fresh`: it was made now."""

    key: str
    evaluation: dict[str, Any] | None = None
    failure: str = ""
    seconds: float = 0.0
    fresh: bool = True


def finished(job: Job) -> Outcome | None:
    """The outcome of a run that an earlier call has finished; None where it is still to be made.

    Raises:
        BadCheckpoint: the folder holds a finished run of other settings.
    """
    try:
        done = json.loads((job.folder / DONE).read_text(encoding="utf-8"))
        evaluation = json.loads((job.folder / "evaluation.json").read_text(encoding="utf-8"))
        known, seconds = str(done["key"]), float(done["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if known != job.key:
        raise BadCheckpoint(f"{job.folder} holds a run of other settings than this suite has now; name a new folder, or remove that one")
    return Outcome(job.key, evaluation, seconds=seconds, fresh=False)


def make(job: Job, progress: bool = False) -> Outcome:
    """Make a run, whatever happens: an error becomes the outcome's `failure`, and its traceback `failure.txt` in the folder."""
    before = time.perf_counter()
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
        (job.folder / "failure.txt").unlink(missing_ok=True)
        evaluation = _played(job) if job.agent else _trained(job, progress)
        seconds = round(time.perf_counter() - before, 1)
        checkpoint.write_json(job.folder / DONE, {"key": job.key, "seconds": seconds})
        return Outcome(job.key, evaluation, seconds=seconds)
    except Exception as error:  # one run that fails must not end the others
        kind = "" if isinstance(error, LoquentError) else f"{type(error).__name__}: "
        _note(job.folder, traceback.format_exc())
        return Outcome(job.key, failure=f"{kind}{error}" or type(error).__name__, seconds=time.perf_counter() - before)


def _trained(job: Job, progress: bool) -> dict[str, Any]:
    """Train, from the newest checkpoint where an earlier call has left one of this very run."""
    folder = job.folder
    if (folder / "config.yaml").exists():
        same = _same(folder, job.recipe)
        if same and (folder / "evaluation.json").exists():
            return load_run(folder).evaluation
        if same and checkpoint.checkpoints(folder):
            try:
                return train(job.recipe, folder, progress=progress, resume=True).evaluation
            except BadCheckpoint:
                pass  # of another machine, say: begun again it is a run like all others
        shutil.rmtree(folder)
    return train(job.recipe, folder, progress=progress).evaluation


def _same(folder: Path, recipe: Recipe) -> bool:
    try:
        return load_run(folder).recipe.fingerprint == recipe.fingerprint
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
    episode.write(job.folder / "episodes.jsonl", found.episodes)
    checkpoint.write_json(job.folder / "evaluation.json", {"agent": job.agent, **found.as_json()})
    return found.as_json()


def _note(folder: Path, text: str) -> None:
    with suppress(OSError):  # a full disk, perhaps; the failure itself is in the table
        (folder / "failure.txt").write_text(text, encoding="utf-8")
