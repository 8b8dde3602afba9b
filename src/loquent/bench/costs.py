"""What a suite would cost: the estimates of its runs, without the weights of models that it makes itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from loquent.bench import collecting, jobs, outside
from loquent.bench import suite as suites
from loquent.bench.jobs import Job
from loquent.bench.schema.sets import SetJob
from loquent.errors import LoquentError
from loquent.training.datasets import collection
from loquent.training.estimate import estimate
from loquent.training.recipes import Recipe
from loquent.training.recipes.building import NEW_MODEL

GAMES = 64  # games in the place of a set that is not collected yet


@dataclass(frozen=True)
class Costs:
    """The costs of a profile by stage and cell, and a line for each thing that is missing from outside."""

    entries: list[Cost]
    missing: list[str]


@dataclass(frozen=True)
class Cost:
    """The cost of all runs of a stage or a cell; `why` says why it is unknown, and "" if it is known."""

    name: str
    runs: int
    seconds: float = 0.0
    peak: int = 0
    disk: int = 0
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return dict(vars(self))


def costs(
    suite: str | Path,
    out: str | Path,
    *,
    profile: str | None = None,
    seeds: int | None = None,
    overrides: Sequence[str] = (),
    only: Sequence[str] = (),
    allow_imports: bool = False,
    say: Callable[[str], None] = print,
) -> Costs:
    """The cost of each stage and cell, in the order of the runs; raises as `runner.bench`.

    One run of each is estimated; its other seeds cost as much. A model that another run of the suite makes is
    replaced by a new one of the same sizes, and a set of episodes by a few of its games, so no run, no
    weights and no set need to exist. What is missing from outside makes the costs of its runs unknown.
    """
    loaded = suites.load(suite, allow_imports=allow_imports)
    name, size = loaded.profile(profile)
    by_entry = jobs.by_entry(overrides, [*loaded.entries], [*loaded.data])
    plan = jobs.plan(loaded, Path(out), name, seeds, by_entry, loaded.selection(name, only))
    made = {str(job.folder): job.recipe for job in plan.jobs if isinstance(job, Job)}
    runs: dict[str, list[Job]] = {}
    for job in plan.jobs:
        if isinstance(job, Job) and not job.agent:
            runs.setdefault(job.name, []).append(job)
    found, missing = [], outside.missing(plan, size)
    with TemporaryDirectory() as folder:
        games = Path(folder)
        sets = {
            str(job.place): job for job in plan.jobs if isinstance(job, SetJob) and not job.file.is_file()
        }
        for entry, of_entry in runs.items():
            say(f"estimating {entry}")
            recipe = with_new_model(of_entry[0].recipe, made)
            found.append(_cost(entry, len(of_entry), recipe, sets, games))
    return Costs(found, missing)


def with_new_model(recipe: Recipe, made: dict[str, Recipe]) -> Recipe:
    """The recipe with a new model in place of one that another run of the suite makes and that is not there.

    All weights of a new model learn, so a run with adapters needs less than is estimated.

    Args:
        made: the recipes of the suite's runs, by folder.
    """
    model = recipe.model
    if model.path not in made or Path(model.path).is_dir():
        return recipe
    source = with_new_model(made[model.path], made).model
    of_the_weights = {*NEW_MODEL, "path", "revision", "lora"}
    kept = {name: value for name, value in vars(model).items() if name not in of_the_weights}
    return replace(recipe, model=replace(source, **kept))


def _cost(name: str, runs: int, recipe: Recipe, sets: Mapping[str, SetJob], games: Path) -> Cost:
    """The cost of `runs` runs of a recipe.

    Args:
        sets: the sets that are not collected yet, by path; their few games are played into `games`.
    """
    try:
        places = [_few(sets[path], games) if path in sets else path for path in recipe.training.data]
        one = estimate(replace(recipe, training=replace(recipe.training, data=tuple(places))))
    except LoquentError as error:
        return Cost(name, runs, why=str(error))
    return Cost(name, runs, one.total_seconds * runs, one.peak, one.disk["checkpoints"] * runs)


def _few(job: SetJob, games: Path) -> str:
    """The folder of a few games of a set, which are played once; the path of a given set."""
    folder = games / job.name
    if job.data.path:
        return job.data.path
    if not folder.exists():
        few = replace(job.data, episodes=min(GAMES, job.data.episodes))
        task = collecting.task_of(job)
        collection.collect(collecting.plan(replace(job, data=few), task), task, folder, progress=False)
    return str(folder)
