"""Printing of evaluations and estimates, shared by several commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from loquent.core.guards.terminal import line
from loquent.errors import in_words
from loquent.files import final_evaluation
from loquent.statistics.tables import name_lines

MOST_OF_METRIC = 4  # values of one metric in a short list


def print_scores(evaluation: dict[str, Any], *, short: bool = False) -> None:
    """Print the values of an evaluation, with standard errors where they are known.

    Args:
        short: print the first 4 values of each metric only, and count the others.
    """
    print(line(final_evaluation.heading(evaluation)))
    owners, printed = evaluation.get("owners", {}) if short else {}, Counter[str]()
    shown = {}
    for name, value in evaluation["values"].items():
        if owner := owners.get(name):
            printed[owner] += 1
            if printed[owner] > MOST_OF_METRIC:
                continue
        error = evaluation["errors"].get(name)
        number = "none" if value is None else f"{value:.4g}"
        shown[name] = number + (f" ± {error:.2g}" if error is not None else "")
    print(name_lines(shown, "  "), end="")
    for owner, count in printed.items():
        if count > MOST_OF_METRIC:
            print(f"  ... and {count - MOST_OF_METRIC} more values of {line(owner)}, in evaluation.json")


def print_estimate(estimate: Any) -> None:
    """Print an estimate: parameters, memory, disk and time, each with its parts."""
    sizes = estimate.sizes
    of_actions = "actions" in sizes
    rows = (
        f"{sizes['games']} games seen as {sizes['width']} numbers"
        if of_actions
        else f"{sizes['rows_measured']} rows of {sizes['width']} tokens"
    )
    print(f"on {estimate.device}; measured on {rows}" + ("" if of_actions else " and a few decoded tokens"))
    if "rows" in sizes:  # recorded episodes are not played on rows
        print(f"training rows: {sizes['rows']:,}")
    _parts("parameters", sum(estimate.parameters.values()), estimate.parameters, _count)
    _parts("memory at its peak", estimate.peak, estimate.memory, in_words)
    if estimate.free is not None and estimate.peak > estimate.free:
        free = in_words(estimate.free)
        print(f"this is too much: {free} are free here; lower the settings of the largest part")
    _parts(
        "checkpoints on disk",
        estimate.disk["checkpoints"],
        {
            "each": estimate.disk["checkpoint"],
            "reference": estimate.disk["reference"],
            "at most": estimate.disk["at_most"],
        },
        in_words,
    )
    seeds = f"{sizes['seeds']} seeds, each " if sizes["seeds"] > 1 else ""
    each = f"{sizes['actions']} actions" if of_actions else f"{sizes['episodes']} episodes"
    _parts(
        f"time, {seeds}{sizes['updates']} updates of {each}",
        estimate.total_seconds,
        estimate.seconds,
        in_time,
    )


def _parts(title: str, total: float, parts: Mapping[str, float], written: Callable[[float], str]) -> None:
    print(f"{title}: {written(total)}")
    print(name_lines({name: written(value) for name, value in parts.items()}, "  "), end="")


def _count(number: float) -> str:
    return f"{number:,.0f}"


def in_time(seconds: float) -> str:
    """Seconds as a text, such as "12.5 s" or "3.0 min"."""
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
