"""The plan of a search, whose settings, metric and sizes are checked before its first trial."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.bench.search import checks, halving, space
from loquent.bench.search.journal import SAMPLERS, Plan, sampler_version
from loquent.errors import BadSetting, naming_extras
from loquent.training.recipes import Recipe


def plan(
    recipe: Recipe,
    settings: Sequence[str],
    *,
    on: str,
    trials: int | None = None,
    sampler: str = "random",
    seed: int = 0,
    seeds: int = 1,
    rungs: str = "",
    keep: float = 0.5,
) -> Plan:
    """The plan of a search.

    Args:
        recipe: the recipe that all trials change.
        settings: the settings to search, as `key=a,b,c`, `key=LOW:HIGH` or `key=log:LOW:HIGH`.
        on: the value of evaluations on the validation split that chooses.
        trials: the number of trials; by default all points of a space without real numbers.
        sampler: "random", or "tpe" of Optuna (`loquent[search]`).
        seed: the seed of the proposals.
        seeds: the runs of each trial, with the seed of the recipe and the next ones.
        rungs: the updates after which only the best trials go on, such as "10,30".
        keep: the share of trials that goes on.

    Raises:
        BadSetting: the recipe refuses a setting of the space, or trials could not be compared.
        MissingExtra: the sampler needs Optuna, which is not installed.
    """
    if sampler not in SAMPLERS:
        raise BadSetting(f"--sampler must be one of {', '.join(SAMPLERS)}, got {sampler!r}")
    if not 0 < keep <= 1:
        raise BadSetting(f"--keep must be above 0 and at most 1, got {keep}")
    typed, common = space.split(settings)
    if common:
        raise BadSetting(f"{common[0]} has one value; set it in the recipe, {space.FORMS}")
    metric, updates = on.removeprefix("evaluation/"), halving.read_rungs(rungs, recipe.training.updates)
    checks.check_split(recipe, metric)
    checks.check_paths(typed, metric)
    dimensions = space.settle(typed, recipe)
    recipes = [recipe.replace(*space.overrides(point)) for point in space.corners(dimensions)]
    points = space.size(dimensions)
    if trials is None and points is None:
        raise BadSetting("--trials N is missing, and a range of real numbers has no last point; give N")
    if points is not None and (trials or 0) > points:
        raise BadSetting(f"--trials {trials}: the space has only {points} points; give at most {points}")
    with naming_extras("--sampler tpe"):
        version = sampler_version(sampler)
    return Plan(
        recipe=recipe.fingerprint,
        space=tuple(settings),
        whole=tuple(one.path for one in dimensions if isinstance(one, space.Range) and one.whole),
        metric=metric,
        higher=checks.direction(recipes[0], metric, updates),
        trials=trials or points or 0,
        sampler=sampler,
        sampler_version=version,
        seed=seed,
        seeds=seeds,
        rungs=updates,
        keep=keep,
    )
