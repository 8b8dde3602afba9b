"""Make a set of recorded episodes of a suite, and compute its figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from loquent.bench.schema.sets import SetJob, identifier, kind, text
from loquent.core import agent, episode
from loquent.core.task import Task
from loquent.core.values import Record
from loquent.data.filters import best
from loquent.data.outcomes import mean_and_error
from loquent.errors import BadCheckpoint, LoquentError
from loquent.files import atomic, manifest
from loquent.files.machine.version import __version__
from loquent.training import by_name
from loquent.training.datasets import collection, designs

FIGURES = "set.json"  # the file in the set's folder
DECILE = 0.1
SITUATIONS = 2000  # the largest number of situations of an exact return; it takes some seconds


def make(job: SetJob, progress: bool = False) -> dict[str, Any]:
    """Collect the missing episodes, and write and return the set's figures.

    Raises:
        BadCheckpoint: the folder holds another collection.
        LoquentError: the episodes cannot be collected.
    """
    task = task_of(job)
    if not job.data.path:
        collection.collect(plan(job, task), task, job.folder, progress=progress)
    content = {"key": job.figures_key, **figures(job, task)}
    atomic.write_json(job.folder / FIGURES, manifest.add_seal(content))
    return content


def task_of(job: SetJob) -> Task:
    """The task on which a set is played."""
    return by_name.task(job.task, _task_options(job))


def find_figures(job: SetJob) -> dict[str, Any] | None:
    """The figures of a set that an earlier call has made; None if the set is not finished.

    Raises:
        BadCheckpoint: the folder holds another set or a run.
    """
    try:
        content = manifest.load(job.folder / FIGURES, "delete it")
        is_collection = (job.folder / collection.PLAN).exists()
    except (BadCheckpoint, OSError):
        return None
    if is_collection == bool(job.data.path):
        raise BadCheckpoint(
            f"{job.folder} holds another set than that of the suite; name a new folder, or move that one away"
        )
    return content if content.get("key") == job.figures_key and job.file.is_file() else None


def plan(job: SetJob, task: Task) -> collection.Plan:
    """The plan of the collection, which is that of `loquent collect`."""
    data, design, players = job.data, kind(job.data.design), job.data.players
    read = designs.read(design, players, data.options)
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
        design=None if design == designs.GAMES else design,
        inputs=designs.inputs(design, read),
    )


def figures(job: SetJob, task: Task) -> dict[str, Any]:
    """The figures of a set: rows, episodes, mean return with its error clustered by row, and exact returns.

    `best` is the mean return of the best tenth. `exact` is the exact mean return of the set's agent, and
    `optimum` that of the suite's agent `optimum`.

    Raises:
        LoquentError: the file holds no episode.
    """
    played = [(one.row, one.total(task.spec.rewards)) for one in episode.read(job.file)]
    returns = np.array([total for _, total in played])
    if not len(returns):
        raise LoquentError(f"{job.file} holds no episode; name a file with episodes")
    mean, error = mean_and_error(returns.tolist(), [row for row, _ in played])
    top = best(returns, max(DECILE, 1 / len(returns)))
    plain_games = not job.data.path and kind(job.data.design) == designs.GAMES
    return {
        "label": job.data.label or job.name,
        "task": task.identity,
        "made_by": _maker(job),
        "rows": len({row for row, _ in played}),
        "episodes": len(returns),
        "return": mean,
        "error": None if math.isnan(error) else error,
        "best": float(returns[top].mean()),
        "exact": exact(task, job.data.agent) if plain_games else None,
        "optimum": exact(task, job.optimum) if job.optimum else None,
        "optimum_of": kind(job.optimum),
        "loquent": __version__,
    }


def exact(task: Task, chosen: str | Record) -> float | None:
    """The exact mean return of an agent; None if it computes none, or has too many situations."""
    exact_return = getattr(agent.make(chosen, task), "exact_return", None)
    try:
        return None if exact_return is None else float(exact_return(SITUATIONS))
    except LoquentError:
        return None


def _maker(job: SetJob) -> str:
    """The players, the design and their options, as a text for tables."""
    data = job.data
    if data.path:
        return f"given: {data.path}"
    design, players = kind(data.design), ", ".join(name for name in data.players.values() if name)
    options = ", ".join(option.partition(".")[2] for option in data.options)
    maker = players if design == designs.GAMES else f"{design}: {players}"
    return f"{maker} ({options})" if options else maker


def _task_options(job: SetJob) -> tuple[str, ...]:
    options: Mapping[str, Any] = job.task_options
    return tuple(f"{identifier(key, job.task)}={text(value)}" for key, value in options.items())
