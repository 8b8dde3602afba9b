"""Extending: a run gets more updates, and equals a run that had them from the start."""

from __future__ import annotations

from loquent.errors import BadCheckpoint, BadSetting
from loquent.files import saved_state
from loquent.recipes import Recipe
from loquent.training import checkpoint
from loquent.training.run import Run

SETTING = "training.updates"


def extended(run: Run, overrides: list[str]) -> Recipe:
    """The recipe of a run with more updates; the run's folder notes the number.

    Args:
        overrides: `training.updates=N`, the new total; an empty list changes nothing.

    Raises:
        BadSetting: another setting is changed, the number is smaller than before, or the results depend on
            the number of updates; with the reason.
        BadCheckpoint: the run was stopped early.
    """
    recipe = run.recipe
    if not overrides:
        return recipe
    for item in overrides:
        if item.partition("=")[0].strip() != SETTING:
            raise BadSetting(
                f"{item!r:.100} cannot change in a run that is resumed; only {SETTING} can. To train with "
                f"other settings, train a new run from it: "
                f"loquent train {recipe.name} model.path={run.folder}"
            )
    longer = recipe.replace(*overrides)
    before, after = recipe.training.updates, longer.training.updates
    if after < before:
        raise BadSetting(f"{SETTING} = {after} is less than the {before} of {run.folder}; give at least that")
    if after == before:
        return recipe
    if reason := recipe.config.spread_over_run():
        raise BadSetting(
            f"{run.folder} cannot be extended to {after} updates, because its results depend on the number "
            f"of updates: {reason}. Train a new run with {SETTING}={after}"
        )
    _check_not_stopped(run)
    with run.files.alone():
        run.files.extend(after)
    return longer


def _check_not_stopped(run: Run) -> None:
    """Raise BadCheckpoint if early stopping ended the run; it would end there with more updates too."""
    paths, training = run.files.checkpoints.all(), run.recipe.training
    if not paths or not training.stop_metric:
        return
    counters = saved_state.part(checkpoint.load(paths[-1], reference=False), "counters")
    if saved_state.count(counters, "waited") >= training.patience:
        raise BadCheckpoint(
            f"{run.folder} was stopped early, after update {saved_state.count(counters, 'updates')}: "
            f"{training.stop_metric} did not improve in {training.patience} evaluations. More updates change "
            "nothing; train a new run with a larger training.patience"
        )
