"""The witnesses of a reward: the values outside it, by row, and what the rule of `divergence` says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import fmean
from typing import Any

import numpy as np

from loquent.files import final_evaluation
from loquent.files.evaluation_rows import RowValues
from loquent.files.final_evaluation import REWARDED
from loquent.report.divergence import FEWEST, FEWEST_ROWS, Divergence, Values
from loquent.report.groups import Group
from loquent.statistics.falls import complete_rows

MORE = (
    "training.evaluate_every sets the number of updates between evaluations, training.evaluate_first adds "
    "one before the first update"
)


def rewarded(config: Mapping[str, Any]) -> bool:
    """Whether a run has rewards of its own to watch."""
    return bool(config.get("rewards"))


def outside(group: Group, keys: Sequence[str]) -> list[str]:
    """The keys of `evaluation/` that come from metrics and are not known to be part of the reward.

    The return, rewards, and scores that the evaluations record as rewarded are left out.

    Args:
        group: the runs. A key whose metric their evaluations do not record belongs to the metric whose name
            it begins with.
        keys: logged keys.
    """
    metrics: Mapping[str, Any] = group.runs[0].config.get("metrics") or {}
    owners = {key: name for run in group.runs for key, name in run.evaluation.get("owners", {}).items()}
    inside = {key for run in group.runs for key in run.evaluation.get(REWARDED, ())}
    bare = {key: key.removeprefix("evaluation/") for key in keys if key.startswith("evaluation/")}
    return [
        key
        for key, name in bare.items()
        if name not in inside and (owners.get(name) or _owner(name, metrics)) in metrics
    ]


def is_recorded(group: Group) -> bool:
    """Whether all evaluations record what is rewarded; earlier versions of Loquent did not."""
    return all(REWARDED in run.evaluation for run in group.runs)


def _top(group: Group) -> float | None:
    """The greatest possible return; None if it is open or unknown."""
    top = min(final_evaluation.range_of(run.evaluation, "return")[1] for run in group.runs)
    return top if math.isfinite(top) else None


def _owner(key: str, metrics: Mapping[str, Any]) -> str:
    """The metric with the longest name that a key begins with.

    A variant of a metric (`meteor-exact-stem`) has a hyphen after the name.
    """
    family = key.split("/")[0]
    return max(
        (name for name in metrics if family == name or family.startswith(f"{name}-")), key=len, default=""
    )


@dataclass(frozen=True)
class Verdict:
    """What can be said about the reward of a group of runs.

    updates: the updates of the evaluations with values by row, which all seeds have.
    divergence: the return and the witnesses by row; None if nothing can be said.
    partial: the values that were not judged, because too few rows have a value at each evaluation.
    seeds: the number of runs.
    unknown: why nothing can be said; otherwise empty.
    """

    updates: tuple[int, ...] = ()
    divergence: Divergence | None = None
    partial: tuple[str, ...] = ()
    seeds: int = 1
    unknown: str = ""


def judge(group: Group, keys: Sequence[str], higher: Mapping[str, bool | None]) -> Verdict:
    """The result of the rule of `divergence` for the evaluations of a group.

    Of several seeds a value by row is the mean over the seeds, which play the same rows.

    Args:
        group: the runs.
        keys: their logged keys.
        higher: by key, whether more is better.
    """
    if not all(run.evaluation for run in group.runs):
        return Verdict(unknown="The run has not ended, and its end records which direction is better.")
    if not is_recorded(group):
        return Verdict(
            unknown="An earlier version of Loquent wrote the evaluation at the end, which does not record "
            "which values are rewarded. Delete `evaluation.json`, and `loquent resume` evaluates again."
        )
    if not any("evaluation/return" in line for run in group.runs for line in run.metrics):
        return Verdict(unknown=f"The reward cannot be watched: nothing was evaluated in training. {MORE}.")
    updates, columns = rows_by_key([run.evaluation_rows for run in group.runs])
    if not updates:
        return Verdict(
            unknown="The evaluations in training have no values by row that all seeds share: an earlier "
            "version of Loquent made them. Train again."
        )
    names = [key.removeprefix("evaluation/") for key in outside(group, keys)]
    directions = {key: up for key in names if (up := higher.get(key, True)) is not None}
    whole = {key for key, column in columns.items() if complete_rows(column).sum() >= FEWEST_ROWS}
    judged = {key: bool(up) for key, up in directions.items() if key in whole and key in higher}
    partial = tuple(key for key in directions if key not in judged)
    found = Verdict(updates, None, partial, len(group.runs))
    if len(updates) < FEWEST:
        return replace(found, unknown=f"One evaluation shows no change: {MORE}.")
    if "return" not in whole:
        return replace(
            found,
            unknown=f"Too few rows have a return at each evaluation; {FEWEST_ROWS} are enough: set "
            "training.evaluate_episodes in the recipe.",
        )
    if not judged:
        return replace(
            found,
            unknown="The reward cannot be watched: no metric outside the reward was evaluated in training; "
            "set metrics in the recipe.",
        )
    witnesses = {key: columns[key] for key in judged}
    return replace(found, divergence=Divergence(columns["return"], witnesses, judged, _top(group)))


def rows_by_key(runs: Sequence[Sequence[RowValues]]) -> tuple[tuple[int, ...], dict[str, Values]]:
    """The updates that all runs evaluated, and by key the values of the rows that are in all evaluations.

    A value is the mean over a row's episodes that have one, and then over the runs.
    """
    tables = [{one.update: one for one in run} for run in runs]
    updates = tuple(sorted(set.intersection(*(set(table) for table in tables))))
    if not updates:
        return (), {}
    evaluations = [[table[update] for update in updates] for table in tables]
    every = list(chain.from_iterable(evaluations))
    shared = set.intersection(*(set(one.rows) for one in every))
    rows = [row for row in dict.fromkeys(every[0].rows) if row in shared]
    keys = [key for key in every[0].values if all(key in one.values for one in every)]
    return updates, {
        key: np.mean([[_means(one, key, rows) for one in own] for own in evaluations], axis=0) for key in keys
    }


def _means(one: RowValues, key: str, rows: Sequence[str]) -> list[float]:
    """For each row, the mean over its episodes that have a value; NaN if none has."""
    found: dict[str, list[float]] = {row: [] for row in one.rows}
    for row, value in zip(one.rows, one.values[key], strict=True):
        if value is not None:
            found[row].append(value)
    return [fmean(found[row]) if found[row] else math.nan for row in rows]
