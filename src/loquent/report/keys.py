"""The keys that runs logged: their meanings and directions, and the chart of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loquent.algorithms.logged_keys import BUILT_IN
from loquent.core import log_keys, registry
from loquent.core.log_keys import Logged
from loquent.errors import LoquentError
from loquent.report.charts import Curve
from loquent.report.groups import Group
from loquent.report.interactive import Chart
from loquent.report.ranges import limits

SUCCESS = ("rollout/success", "evaluation/success")
BETTER = {True: "; more is better", False: "; less is better", None: ""}


def logged_keys(groups: Sequence[Group]) -> list[str]:
    """All keys that the runs logged, in the order of their first line."""
    return list(
        dict.fromkeys(key for group in groups for run in group.runs for line in run.metrics for key in line)
    )


def directions(groups: Sequence[Group]) -> dict[str, bool | None]:
    """Whether a higher value is better, for each value of the evaluations at the end."""
    return {
        key: up
        for group in groups
        for run in group.runs
        for key, up in run.evaluation.get("higher_is_better", {}).items()
    }


def evaluations(groups: Sequence[Group]) -> list[Mapping[str, Any]]:
    """The evaluations at the end of the runs."""
    return [run.evaluation for group in groups for run in group.runs if run.evaluation]


def definitions(group: Group) -> dict[str, Logged]:
    """The keys that a group's algorithm logs, with their meanings.

    Built-in algorithms are not imported, because they import torch. Code that only a run's file names is not
    imported either: its keys are drawn without a meaning.
    """
    kind = str(group.runs[0].config["algorithm"]["kind"])
    try:
        if kind in BUILT_IN and registry.target("algorithm", kind).startswith("loquent."):
            return {**log_keys.LOGGED, **BUILT_IN[kind]}
        return log_keys.table(registry.find("algorithm", kind))
    except (LoquentError, ImportError):
        return dict(log_keys.LOGGED)


def chart_of(
    groups: Sequence[Group],
    key: str,
    meanings: Mapping[str, Logged],
    higher: Mapping[str, bool | None],
) -> Chart:
    """The chart of a logged key, with one curve per group; it is empty if the key was never logged."""
    lines = [Curve(group.label, i, group.curve(key), group.progress) for i, group in enumerate(groups)]
    meaning = log_keys.definition(key, meanings) or Logged("", "defined in no table")
    better = BETTER[higher.get(key.removeprefix("evaluation/"))] if key.startswith("evaluation/") else ""
    caption = meaning.meaning + better + _ended(lines)
    means = [point.mean for line in lines for point in line.points]
    ends = limits(key, means, evaluations(groups), meaning)
    return Chart(key, meaning.unit, lines, caption, len(groups) > 1, ends)


def _ended(lines: Sequence[Curve]) -> str:
    """The curves whose number of seeds changes, in words."""
    texts = []
    for line in lines:
        counts = [point.n for point in line.points]
        if len(set(counts)) > 1:
            name = f"{line.label}: " if len(lines) > 1 else ""
            texts.append(f"{name}{max(counts)} seeds, {min(counts)} where the line is dotted")
    return f" ({'; '.join(texts)})" if texts else ""
