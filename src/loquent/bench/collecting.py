"""A set of a suite made: collected or gone on with, and its figures: mean return, best decile, and exact
values where there are any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from loquent.bench.sets import SetJob, kind, text
from loquent.core import agent, episode
from loquent.core.task import Task
from loquent.core.values import Record
from loquent.data.filters import best
from loquent.datasets import collection, designed
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files import atomic, manifest
from loquent.machine.version import __version__
from loquent.training import by_name
from loquent.training.evaluate import mean_and_error

FIGURES, DECILE = "set.json", 0.1
SITUATIONS = 2000  # of an exact value: some seconds


def make(job: SetJob, progress: bool = False) -> dict[str, Any]:
    """Collect what is missing, read the whole, and keep and return its figures.

    Raises:
        BadCheckpoint: the folder holds another collection. LoquentError: nothing can be collected.
    """
    task = by_name.task(job.task, _task_options(job))
    if not job.data.path:
        collection.collect(plan(job, task), task, job.folder, progress=progress)
    found = {"key": job.figures_key, **figures(job, task)}
    atomic.write_json(job.folder / FIGURES, manifest.sealed(found))
    return found


def finished(job: SetJob) -> dict[str, Any] | None:
    """The figures of a set that an earlier call has made; None where they are still to be made.

    Raises:
        BadCheckpoint: the folder holds another set or a run.
    """
    try:
        found = manifest.load(job.folder / FIGURES, "delete it")
        known = (job.folder / collection.PLAN).exists()
    except (BadCheckpoint, OSError):
        return None
    if known == bool(job.data.path):
        raise BadCheckpoint(
            f"{job.folder} holds another set than this suite has now; name a new folder, or move "
            "that one away"
        )
    return found if found.get("key") == job.figures_key and job.file.is_file() else None


def plan(job: SetJob, task: Task) -> collection.Plan:
    """What is collected, as `loquent collect` has it."""
    data, design, players = job.data, kind(job.data.design), job.data.players
    read = designed.read(design, players, data.options)
    return collection.Plan(
        task=job.task,
        options=(*_task_options(job), *data.options),
        identity=task.identity,
        agent=players["agent"],
        suboptimal=players["suboptimal"],
        adversary=players["adversary"],
        episodes=data.episodes,
        split=data.split,
        seed=data.seed,
        design=None if design == designed.GAMES else design,
        inputs=designed.inputs(design, read),
    )


def figures(job: SetJob, task: Task) -> dict[str, Any]:
    """Of the episodes: how many, their mean return with its standard error, that of the best tenth.

    Exact values; who made them.
    """
    returns = np.array([one.total(task.spec.rewards) for one in episode.read(job.file)])
    if not len(returns):
        raise LoquentError(f"{job.file} holds no episode")
    mean, error = mean_and_error(returns.tolist())
    kept = best(returns, max(DECILE, 1 / len(returns)))
    plain_games = not job.data.path and kind(job.data.design) == designed.GAMES
    return {
        "label": job.data.label or job.name,
        "task": task.identity,
        "made_by": _maker(job),
        "episodes": len(returns),
        "return": mean,
        "error": error,
        "best": float(returns[kept].mean()),
        "exact": exact(task, job.data.agent) if plain_games else None,
        "optimum": exact(task, job.optimum) if job.optimum else None,
        "optimum_of": kind(job.optimum),
        "loquent": __version__,
    }


def exact(task: Task, chosen: str | Record) -> float | None:
    """The exact mean return of an agent; None where it says none, or has too many situations."""
    find = getattr(agent.make(chosen, task), "exact_return", None)
    try:
        return None if find is None else float(find(SITUATIONS))
    except LoquentError:
        return None


def _maker(job: SetJob) -> str:
    """Who made it, in words."""
    data = job.data
    if data.path:
        return f"given: {data.path}"
    design, players = kind(data.design), ", ".join(who for who in data.players.values() if who)
    said = ", ".join(option.partition(".")[2] for option in data.options)
    return (players if design == designed.GAMES else f"{design}: {players}") + (f" ({said})" if said else "")


def _task_options(job: SetJob) -> tuple[str, ...]:
    options: Mapping[str, Any] = job.task_options
    return tuple(f"{key}={text(value)}" for key, value in options.items())
