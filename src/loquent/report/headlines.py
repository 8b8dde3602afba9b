"""The headline numbers of a group of runs: its main value, and how far it got."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from loquent.report.charts import COLOURS
from loquent.report.groups import Group, read
from loquent.statistics.tables import Table, short

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


def _tuning(group: Group) -> dict[str, str]:
    """What the search for the settings of a group cost; empty if they were not searched."""
    return {"tuning": str(tuning)} if (tuning := group.runs[0].tuning) else {}


def brief(folder: str | Path) -> str:
    """A run in short, for a notebook: what it is, how far it got, and its values at the end, as markup."""
    [group] = read([folder])
    config, evaluation = group.runs[0].config, group.runs[0].evaluation
    facts = {name: str(config[name]["kind"]) for name in ("algorithm", "task")}
    facts = {
        "recipe": str(config["name"]),
        **facts,
        **extent(group),
        **_tuning(group),
        "decoding": group.decoding,
        "folder": str(folder),
    }
    page = Table(list(facts), [list(facts.values())]).__html__()
    if not evaluation:
        return page + "<p>The run has not ended.</p>"
    errors = evaluation["errors"]
    rows = [[key, short(value), short(errors.get(key))] for key, value in evaluation["values"].items()]
    return page + Table([f"{evaluation['split']} split at the end", "", "± standard error"], rows).__html__()


@dataclass(frozen=True)
class Card:
    """The headline numbers of a group as texts."""

    colour: int
    label: str
    facts: Mapping[str, str]
    value: str = ""
    error: str = ""
    what: str = ""


@dataclass(frozen=True)
class Headlines:
    """A block of a page with one card per group."""

    cards: Sequence[Card]


def headlines(groups: Sequence[Group]) -> Headlines:
    """One card per group."""
    return Headlines([_card(i % COLOURS, group) for i, group in enumerate(groups)])


def _card(colour: int, group: Group) -> Card:
    main, facts = headline(group), extent(group) | _tuning(group)
    if main is None:
        return Card(colour, group.label, facts)
    error = "" if main.error is None else short(main.error)
    first = "" if main.first is None else f"; {short(main.first)} at first"
    return Card(colour, group.label, facts, short(main.value), error, f"{main.key}, {main.what}{first}")


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
