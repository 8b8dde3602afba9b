"""The headline numbers of a group of runs: its main value, and how far it got."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from loquent.report.charts import COLOURS, safe, short
from loquent.report.groups import Group, read
from loquent.statistics.tables import Table

MAIN = ("success", "return")
TRAINED = (*(f"rollout/{key}" for key in MAIN), "data/return")


class Headline(NamedTuple):
    """The main value of a group: what it is, its error, and the first value of its curve, if there is one."""

    key: str
    what: str
    value: float
    error: float | None
    first: float | None


def headline(group: Group) -> Headline | None:
    """The success or the return: of the evaluation at the end, in training, or of the episodes learned from.

    The first of these that exists counts; None if there is none.
    """
    for key in MAIN:
        points = group.curve(f"evaluation/{key}")
        first = points[0].mean if points else None
        if (final := group.final(key)) is not None:
            return Headline(key, _at_end(group), final[0], final[1], first)
    for key in (*(f"evaluation/{key}" for key in MAIN), *TRAINED):
        if points := group.curve(key):
            last = points[-1]
            error = last.mean - last.low or None
            what = f"at update {last.update:g}; {_source(group, key)}"
            return Headline(key, what, last.mean, error, points[0].mean)
    return None


def extent(group: Group) -> dict[str, str]:
    """How far the runs of a group got, and the seconds that they took, as means over the seeds."""
    axes = group.progress.axes
    found = {
        {"update": "updates"}.get(axis, axis): _count(values[-1]) for axis, values in axes.items() if values
    }
    seconds = [
        sum(value for line in run.timings for name, value in line.items() if name != "update")
        for run in group.runs
    ]
    return found | ({"time": _time(statistics.fmean(seconds))} if any(seconds) else {})


def brief(folder: str | Path) -> str:
    """A run in short, for a notebook: what it is, how far it got, and its values at the end, as markup."""
    [group] = read([folder])
    config, evaluation = group.runs[0].config, group.runs[0].evaluation
    facts = {name: str(config[name]["kind"]) for name in ("algorithm", "task")}
    facts = {
        "recipe": str(config["name"]),
        **facts,
        **extent(group),
        "decoding": group.decoding,
        "folder": str(folder),
    }
    page = Table(list(facts), [list(facts.values())]).__html__()
    if not evaluation:
        return page + "<p>The run has not ended.</p>"
    errors = evaluation["errors"]
    rows = [[key, short(value), short(errors.get(key))] for key, value in evaluation["values"].items()]
    return page + Table([f"{evaluation['split']} split at the end", "", "± standard error"], rows).__html__()


def headlines(groups: Sequence[Group]) -> str:
    """One card per group, as markup."""
    return f'<div class="headlines">{"".join(_card(i, group) for i, group in enumerate(groups))}</div>'


def _card(number: int, group: Group) -> str:
    main = headline(group)
    value = ""
    if main is not None:
        error = "" if main.error is None else f" <small>± {short(main.error)}</small>"
        first = "" if main.first is None else f"; {short(main.first)} at first"
        value = (
            f'<p class="main">{short(main.value)}{error}</p><p>{safe(main.key)}, {safe(main.what)}{first}</p>'
        )
    items = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in extent(group).items())
    return (
        f'<article class="c{number % COLOURS}"><h3>{safe(group.label)}</h3>{value}<dl>{items}</dl></article>'
    )


def _at_end(group: Group) -> str:
    splits = sorted({str(run.evaluation["split"]) for run in group.runs if run.evaluation})
    return f"{', '.join(splits)} split at the end; {_source(group, 'evaluation/')}"


def _source(group: Group, key: str) -> str:
    """Whose episodes a value is of: held-out ones with their decoding, or others with their player."""
    if key.startswith("evaluation/"):
        return f"decoding: {group.decoding}"
    return f"episodes learned from, of: {', '.join(dict.fromkeys(run.player for run in group.runs))}"


def _count(value: float) -> str:
    """A count with three significant digits from ten thousand on: 12.3k, 4.56M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= max(size, 1e4):
            return f"{value / size:.3g}{letter}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.1f}"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
