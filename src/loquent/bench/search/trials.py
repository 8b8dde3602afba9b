"""The trials of a rung as jobs of a suite: their recipes, their folders, and their values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from loquent.bench.evidence.outcome import Outcome
from loquent.bench.jobs import Job
from loquent.bench.search.journal import PLAN, RECIPE
from loquent.bench.search.space import Point, overrides
from loquent.core import log_keys
from loquent.core.guards import json_files
from loquent.core.settings import Remark
from loquent.core.values import Record, digest
from loquent.errors import BadSetting
from loquent.files import names
from loquent.files.run_folder import RunFolder
from loquent.files.run_logs import read_log
from loquent.training import recipes
from loquent.training.metrics import HELD_OUT
from loquent.training.recipes import Recipe

PREFIX = "trial-"


def recipe_of(folder: Path, point: Point, allow_imports: bool) -> Recipe:
    """The recipe of a search with the settings of a point, without remarks, which the corners have shown.

    Raises:
        BadSetting: the recipe refuses the settings.
        NotTrusted: a file of the search names code and is not trusted.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        return recipes.load(
            folder / RECIPE,
            overrides(point, folder / PLAN),
            imports="all" if allow_imports else "trusted",
        )


def job(recipe: Recipe, trial: int, seed: int, updates: int, out: Path) -> Job:
    """The run of a trial with a seed up to the end of a rung.

    It ends with an evaluation on the validation split, so no trial reads the split of the final evaluation.
    A run that cannot be extended, because a setting depends on the number of updates, has a folder for each
    rung.

    Args:
        recipe: the recipe with the settings of the trial.
    """
    training = recipe.training
    own = recipe.replace(f"training.seed={training.seed + seed}", f"training.updates={updates}")
    # past the recipe's check: early stopping on these rows too makes no number of a trial too good
    own = replace(own, training=replace(own.training, final_split=training.evaluate_split))
    alone = f"-updates-{updates}" if recipe.config.spread_over_run() else ""
    folder = out / f"{PREFIX}{trial}-seed-{training.seed + seed}{alone}"
    key = digest(Record({"recipe": own.fingerprint, "folder": folder.name}), 16)
    return Job(f"{PREFIX}{trial}", own.training.seed, key, folder, own, extends=not alone)


def value(done: Job, outcome: Outcome, metric: str) -> float:
    """The value of a metric at the end of a run.

    Raises:
        BadSetting: the run failed, or the value is no finite number; with the reason.
    """
    if outcome.failure or outcome.evaluation is None:
        raise BadSetting(f"seed {done.seed}: {outcome.failure}")
    values: Mapping[str, Any] = outcome.evaluation["values"]
    if metric in HELD_OUT:  # a loss of texts is logged, but no evaluation by episodes has it
        values = _logged(done.folder, outcome.evaluation["checkpoint"])
    found = values[metric] if metric in values else log_keys.value(values, metric)
    if not isinstance(found, int | float) or not math.isfinite(found):
        raise BadSetting(f"seed {done.seed}: {metric} is {found} in the evaluation, not a finite number")
    return float(found)


def _logged(folder: Path, checkpoint: str) -> Mapping[str, Any]:
    """The logged values of the update of a checkpoint."""
    update = names.update_of(checkpoint)
    lines = read_log(RunFolder(folder).logs.metrics)
    return next((line for line in lines if line["update"] == update), {})


def threads(out: Path) -> int:
    """The number of torch's threads in the runs of a search, which go on with it; 0 before the first run."""
    files = sorted(out.glob(f"{PREFIX}*/{names.MACHINE}"))
    return int(json_files.load_object(files[0], nan="null").get("threads") or 0) if files else 0


def rows(out: Path) -> int:
    """The number of rows that measured each trial; 0 if no run has ended."""
    ended = (RunFolder(folder) for folder in sorted(out.glob(f"{PREFIX}*")))
    return next((int(run.evaluation().get("rows", 0)) for run in ended if run.has_ended), 0)


def cost(out: Path) -> tuple[int, int]:
    """The updates and the episodes of all runs of a search, failed ones included."""
    updates = episodes = 0
    for folder in sorted(out.glob(f"{PREFIX}*")):
        *_, last = [{}, *read_log(RunFolder(folder).logs.metrics, torn_end=True)]
        updates += int(last.get("update", 0))
        episodes += int(last.get("episodes", 0))
    return updates, episodes
