"""The witnesses of a reward: the values outside it, by row, and what the rule of `divergence` says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from loquent.core import log_keys
from loquent.core.values import EMPTY
from loquent.files import final_evaluation, names
from loquent.files.evaluation_rows import RowValues
from loquent.files.final_evaluation import REWARDED
from loquent.report.divergence import FEWEST, FEWEST_ROWS, Divergence, Values
from loquent.report.groups import Group
from loquent.report.runs import ReportedRun
from loquent.statistics.falls import complete_rows, row_means

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
    """What the evaluations of a group of runs show about its reward.

    updates: the updates of the evaluations with values by row, which all seeds have.
    divergence: the return and the witnesses by row; None if they show nothing.
    partial: the values that were not judged, by the reason.
    seeds: the number of runs.
    unknown: why they show nothing; otherwise empty.
    """

    updates: tuple[int, ...] = ()
    divergence: Divergence | None = None
    partial: Mapping[str, Sequence[str]] = EMPTY
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
        return Verdict(unknown=_without_rows(group.runs))
    candidates = [key.removeprefix("evaluation/") for key in outside(group, keys)]
    directions = {key: up for key in candidates if (up := higher.get(key, True)) is not None}
    judged: dict[str, bool] = {}
    partial: dict[str, list[str]] = {}
    for key, up in directions.items():
        if reason := _reason(key, group.runs, columns, key in higher):
            partial.setdefault(reason, []).append(key)
        else:
            judged[key] = bool(up)
    found = Verdict(updates, None, partial, len(group.runs))
    if len(updates) < FEWEST:
        return replace(found, unknown=f"One evaluation shows no change: {MORE}.")
    if reason := _reason("return", group.runs, columns):
        return replace(
            found,
            unknown=f"The return cannot be tested: {reason}. {FEWEST_ROWS} rows with a return at each "
            "evaluation are enough; training.evaluate_episodes sets how many are played.",
        )
    if partial and not judged:
        return replace(found, unknown="The reward cannot be watched: no value outside it can be tested.")
    if not judged:
        return replace(
            found,
            unknown="The reward cannot be watched: no metric outside the reward was evaluated in training; "
            "set metrics in the recipe.",
        )
    witnesses = {key: columns[key] for key in judged}
    scores = {
        key: score for key in ("return", *judged) if (score := _logged(group, updates, key)) is not None
    }
    widths = {
        key: high - low for key in judged for low, high in [_range(group, key)] if high - low < math.inf
    }
    top = _range(group, "return")[1]
    return replace(
        found,
        divergence=Divergence(
            columns["return"], witnesses, judged, top if top < math.inf else None, scores, widths
        ),
    )


def _without_rows(runs: Sequence[ReportedRun]) -> str:
    """Why no evaluation has values by row in all runs."""
    without = [run for run in runs if not run.evaluation_rows]
    if not without:
        return "The seeds were never evaluated at the same update, so they cannot be compared together."
    run = without[0]
    if (run.folder / names.EVALUATION_ROWS).is_file():
        return (
            f"The values by row of seed {run.seed} cannot be read; the notes at the end of the page say why."
        )
    return (
        f"The evaluations in training of seed {run.seed} have no values by row: an earlier version of "
        "Loquent made them. Train again."
    )


def _reason(
    key: str, runs: Sequence[ReportedRun], columns: Mapping[str, Values], has_direction: bool = True
) -> str:
    """Why a value cannot be tested; empty if it can."""
    have = [key in one.values for run in runs for one in run.evaluation_rows]
    if not any(have):
        return "no evaluation keeps values by row"
    if not has_direction:
        return "the evaluation at the end records no direction"
    if key not in columns:
        return "an evaluation has no values by row"
    if complete_rows(columns[key]).sum() >= FEWEST_ROWS:
        return ""
    own = [[one for one in run.evaluation_rows if key in one.values] for run in runs]
    if min(complete_rows(rows_by_key([one])[1][key]).sum() for one in own) >= FEWEST_ROWS:
        return "too few rows are the same in all seeds"
    return "too few rows have a value at each evaluation"


def _logged(group: Group, updates: Sequence[int], key: str) -> Values | None:
    """The logged score of each evaluation, a mean over the runs; None if an evaluation of a run lacks it."""
    lines = [{line["update"]: line for line in run.metrics} for run in group.runs]
    scores = [[log_keys.value(own.get(u, {}), f"evaluation/{key}") for own in lines] for u in updates]
    known = all(score is not None and math.isfinite(score) for one in scores for score in one)
    return row_means(np.array(scores, float)) if known else None


def _range(group: Group, key: str) -> tuple[float, float]:
    """The least and the greatest value that the runs record; infinite where one is open."""
    lows, highs = zip(*(final_evaluation.range_of(run.evaluation, key) for run in group.runs), strict=True)
    return min(lows), max(highs)


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
        key: np.sum([np.array([_means(one, key, rows) for one in own]) / len(runs) for own in evaluations], 0)
        for key in keys
    }


def _means(one: RowValues, key: str, rows: Sequence[str]) -> list[float]:
    """For each row, the mean over its episodes that have a value; NaN if none has."""
    found: dict[str, list[float]] = {row: [] for row in one.rows}
    for row, value in zip(one.rows, one.values[key], strict=True):
        if value is not None:
            found[row].append(value)
    return [sum(x / len(found[row]) for x in found[row]) if found[row] else math.nan for row in rows]
