"""What a suite would cost: the estimates of its runs, without the weights of models that it makes itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loquent.bench import jobs
from loquent.bench import suite as suites
from loquent.bench.jobs import Job
from loquent.errors import LoquentError
from loquent.training.estimate import estimate
from loquent.training.recipes import Recipe
from loquent.training.recipes.building import NEW_MODEL


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
) -> list[Cost]:
    """The cost of each stage and cell, in the order of the runs; raises as `runner.bench`.

    One run of each is estimated; its other seeds cost as much. A model that another run of the suite makes is
    replaced by a new one of the same sizes, so no run and no weights need to exist.
    """
    loaded = suites.load(suite, allow_imports=allow_imports)
    name, _ = loaded.profile(profile)
    by_entry = jobs.by_entry(overrides, [*loaded.entries], [*loaded.data])
    plan = jobs.plan(loaded, Path(out), name, seeds, by_entry, only)
    made = {str(job.folder): job.recipe for job in plan.jobs if isinstance(job, Job)}
    runs: dict[str, list[Job]] = {}
    for job in plan.jobs:
        if isinstance(job, Job) and not job.agent:
            runs.setdefault(job.name, []).append(job)
    found = []
    for entry, of_entry in runs.items():
        say(f"estimating {entry}")
        found.append(_cost(entry, len(of_entry), with_new_model(of_entry[0].recipe, made)))
    return found


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


def _cost(name: str, runs: int, recipe: Recipe) -> Cost:
    try:
        one = estimate(recipe)
    except LoquentError as error:
        return Cost(name, runs, why=str(error))
    return Cost(name, runs, one.total_seconds * runs, one.peak, one.disk["checkpoints"] * runs)
