"""Successive halving: after each rung of updates only the best trials go on.

Source: Jamieson and Talwalkar 2016 (arXiv:1502.07943), with the rungs and the share that goes on as settings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from loquent.errors import BadSetting


def read_rungs(text: str, updates: int) -> tuple[int, ...]:
    """The updates of each rung, such as (10, 30, 90) for "10,30" and a recipe of 90 updates.

    Raises:
        BadSetting: they do not rise, or reach the updates of the recipe.
    """
    parts = [part.strip() for part in text.split(",")] if text.strip() else []
    allowed = f"--rungs takes rising numbers of at least 1, below the {updates} updates of the recipe"
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise BadSetting(f"--rungs {text}: not every part is a whole number; {allowed}")
    rungs = (*map(int, parts), updates)
    if 0 in rungs[:-1] or any(low >= high for low, high in pairwise(rungs)):
        raise BadSetting(f"--rungs {text}: {allowed}; training.updates=N changes these")
    return rungs


def ranking(values: Mapping[int, float | None], higher: bool) -> list[int]:
    """The trials that have a value, the best first; of equal ones the earlier first."""
    present = {trial: value for trial, value in values.items() if value is not None}
    return sorted(present, key=lambda trial: (-present[trial] if higher else present[trial], trial))


def survivors(values: Mapping[int, float | None], keep: float, higher: bool) -> list[int]:
    """The trials of a rung that go on, in their order: the best `keep` of all, rounded up.

    A trial that failed has no value and never goes on.
    """
    share = math.ceil(round(keep * len(values), 9))  # 0.07 * 100 is a little more than 7
    return sorted(ranking(values, higher)[: max(1, share)])


def leaders(rungs: Sequence[Mapping[int, float | None]], higher: bool) -> list[int]:
    """The trials with the best value of those that came farthest, without those that failed, in order."""
    failed = {trial for values in rungs for trial, value in values.items() if value is None}
    for values in reversed(rungs):
        order = ranking({trial: own for trial, own in values.items() if trial not in failed}, higher)
        if order:
            return [trial for trial in order if values[trial] == values[order[0]]]
    return []
