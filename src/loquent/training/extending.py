"""Extending: a run gets more updates, and equals a run that had them from the start."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.errors import BadCheckpoint, BadSetting
from loquent.files import saved_state
from loquent.files.run_folder import RunFolder
from loquent.training import checkpoint, recipes
from loquent.training.recipes import Recipe, kinds
from loquent.training.run import Run

SETTING = "training.updates"


def extend_recipe(run: Run, overrides: Sequence[str]) -> Recipe:
    """The recipe of a run with more updates. `train(recipe, folder, resume=True)` extends the run.

    Args:
        overrides: `training.updates=N`, the new total; an empty sequence changes nothing.

    Raises:
        BadSetting: another setting is changed, the number is smaller than before, or the results depend on
            the number of updates; with the reason.
        BadCheckpoint: the run was stopped early.
    """
    recipe = run.recipe
    for item in overrides:
        if item.partition("=")[0].strip() != SETTING:
            has_model = kinds.starts(recipe.algorithm)
            command = f"loquent train {recipe.name}"
            new = f" from it: {command} model.path={run.folder}" if has_model else f": {command}"
            raise BadSetting(
                f"{item!r:.100} cannot change in a run that is resumed; only {SETTING} can. To train with "
                f"other settings, train a new run{new}"
            )
    longer = recipe.replace(*overrides) if overrides else recipe
    check(run.files, recipe, longer.training.updates)
    return longer


def check(files: RunFolder, recipe: Recipe, updates: int) -> None:
    """Raise unless a run can have this many updates; errors as in `extend_recipe`.

    Args:
        recipe: the recipe of the run so far.
        updates: the new total; the same number is always accepted.
    """
    before = recipe.training.updates
    if updates < before:
        raise BadSetting(
            f"{SETTING} = {updates} is less than the {before} of {files.path}; give at least that"
        )
    if updates == before:
        return
    if reason := recipe.config.spread_over_run():
        raise BadSetting(
            f"{files.path} cannot be extended to {updates} updates, because its results depend on the number "
            f"of updates: {reason}. Train a new run with {SETTING}={updates}"
        )
    stop = stopped_at(files, recipe)
    if stop is not None:
        raise BadCheckpoint(
            f"{files.path} was stopped early, after update {stop}: {recipe.training.stop_metric} did not "
            f"improve in {recipe.training.patience} evaluations. More updates change nothing; train a new "
            "run with a larger training.patience"
        )


def extend(files: RunFolder, recipe: Recipe) -> None:
    """Note in a run's folder that the run has the recipe's updates, if they are more than before.

    Raises:
        BadSetting, BadCheckpoint: as in `extend_recipe`; the folder is as it was.
    """
    config = recipes.load(files.config, files.overrides(), imports="none", begun=True)
    written = config.training.updates
    check(files, recipe.replace(f"{SETTING}={written}"), recipe.training.updates)
    if recipe.training.updates > written:
        files.extend(recipe.training.updates)


def stopped_at(files: RunFolder, recipe: Recipe) -> int | None:
    """The update at which early stopping ended a run; None if it did not.

    It would end a run of more updates there too.

    Raises:
        BadCheckpoint: the newest checkpoint is refused.
    """
    paths, training = files.checkpoints.all(), recipe.training
    if not paths or not training.stop_metric:
        return None
    counters = saved_state.part(checkpoint.load(paths[-1], reference=False), "counters")
    waited = saved_state.count(counters, "waited") >= training.patience
    return saved_state.count(counters, "updates") if waited else None
