"""What a search checks before its first trial: its settings, its metric and the split of its evaluations."""

from __future__ import annotations

from collections.abc import Sequence

from loquent.bench.search.space import Dimension
from loquent.errors import BadSetting, nearest
from loquent.training.metrics import HELD_OUT, WATCHED, higher_is_better, is_measured
from loquent.training.recipes import Recipe
from loquent.training.recipes.building import SECTIONS
from loquent.training.trainer import Trainer

TRIED = 4  # episodes of the evaluation that shows which values there are
MEASURES = ("task", "metrics")
FIXED = {
    "training.seed": "the seeds of all trials are equal; --seeds N gives each trial several",
    "training.updates": "trials are compared after equal updates; --rungs lets the best ones train longer",
    **dict.fromkeys(
        ("training.evaluate_split", "training.evaluate_episodes", "training.final_split",
         "training.final_episodes", "training.only", "training.stop_metric"),
        "it changes what a trial is measured by, so values of trials could not be compared",
    ),
}  # fmt: skip


def check_paths(space: Sequence[Dimension], metric: str) -> None:
    """Check that trials with different values of these settings can be compared.

    Raises:
        BadSetting: a setting must be equal in all trials, or is in no section of a recipe.
    """
    for dimension in space:
        section, *inner = dimension.path.split(".")
        if section not in SECTIONS:
            near = nearest(section, SECTIONS)
            hint = f" Nearest: {near}." if near else ""
            raise BadSetting(
                f"{dimension.path}: a recipe has no section {section!r}.{hint} Known: {', '.join(SECTIONS)}"
            )
        why = FIXED.get(dimension.path, "")
        if section in MEASURES or (section == "training" and not inner):
            why = "it changes what a trial is measured by, so values of trials could not be compared"
        if section == "rewards" and metric == "return":
            why = (
                "the return is the sum of the weighted rewards, so trials with other rewards have other "
                "measures; search --on another value, such as a metric or reward/NAME"
            )
        if why:
            raise BadSetting(f"{dimension.path} cannot be searched: {why}. Give it one value for all trials")


def check_split(recipe: Recipe, metric: str) -> None:
    """Check that the metric is one of the validation split.

    Raises:
        BadSetting: it is of the split of the final evaluation, or of rows that are learned from.
    """
    training = recipe.training
    split, final = training.evaluate_split, training.final_split
    head = metric.partition("/")[0]
    if split == final != "test":
        raise BadSetting(
            f"training.final_split = {final!r} is the split that chooses the best trial too "
            "(training.evaluate_split). The final evaluation of the winner would be too good. Set "
            "training.final_split=test"
        )
    if head in (final, "test"):
        raise BadSetting(
            f"--on {metric}: a search never reads the split {head!r}. A choice by it would make the final "
            f"evaluation of the winner too good. Name the value alone; it is measured on {split!r}"
        )
    if split in (final, "test"):
        raise BadSetting(
            f"training.evaluate_split = {split!r} is the split of the final evaluation. A choice by it would "
            "make the final evaluation of the winner too good. Set training.evaluate_split=validation"
        )
    if split == training.split:
        cause = "split=train" if split == "validation" else "evaluate_split=validation"
        raise BadSetting(
            f"training.evaluate_split = {split!r} has the rows that trials learn from, so a search would "
            f"choose by memory. Set training.{cause}"
        )


def direction(recipe: Recipe, metric: str, rungs: Sequence[int]) -> bool:
    """Whether a higher value of the metric is better.

    The parts of the recipe are built once, and a few episodes are played if only these show the values.

    Raises:
        BadSetting: the recipe does not measure the metric, or it has no direction.
    """
    training = recipe.training
    if metric in HELD_OUT:
        every = training.evaluate_every
        if odd := [updates for updates in rungs if not every or updates % every]:
            raise BadSetting(
                f"--on {metric}: it is measured every training.evaluate_every = {every} updates, and a rung "
                f"ends at update {odd[0]}; choose a divisor of all rungs"
            )
    trainer = Trainer(recipe)
    try:
        higher = higher_is_better(metric, trainer.metrics, trainer.weights)
        if metric in HELD_OUT:
            known = trainer.experience.held_out_loss()
        elif is_measured(metric, trainer.metrics, trainer.weights, trainer.task.spec):
            return higher
        else:
            known = trainer.evaluate(training.evaluate_split, TRIED).values
    except BadSetting as error:
        raise BadSetting(f"--on {metric}: {error}".replace("training.stop_metric", "--on")) from error
    if metric not in known:
        near = nearest(metric, known)
        hint = f" Nearest: {near}." if near else ""
        raise BadSetting(f"--on {metric}: the recipe does not measure it.{hint} {WATCHED.capitalize()}")
    return higher
