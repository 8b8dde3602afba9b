"""Tests of differences between groups of ratings, and of a share of wins, by scipy's distributions."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import ModuleType

from loquent.errors import BadSetting, MissingExtra
from loquent.statistics.intervals import LEVEL, unit_of


@dataclass(frozen=True)
class Anova:
    """A one-way analysis of variance: F with its degrees of freedom, and p."""

    f: float
    between: int
    within: int
    p: float


@dataclass(frozen=True)
class Pairwise:
    """The difference of the means of two groups, second - first, with its simultaneous interval and p."""

    first: str
    second: str
    difference: float
    low: float
    high: float
    p: float


def anova(groups: Mapping[str, Sequence[float]]) -> Anova | None:
    """One-way ANOVA of groups of numbers.

    None with fewer than two groups, without a degree of freedom within groups, or if all numbers are equal.

    Raises:
        MissingExtra: scipy is not installed.
    """
    stats = scipy_stats()
    count = sum(map(len, groups.values()))
    if not _testable(groups):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # groups without spread: F is infinite, which is the answer
        result = stats.f_oneway(*_in_units(groups)[0].values())
    return Anova(float(result.statistic), len(groups) - 1, count - len(groups), float(result.pvalue))


def tukey(groups: Mapping[str, Sequence[float]], level: float = LEVEL) -> list[Pairwise]:
    """Tukey's HSD for all pairs of groups (Tukey-Kramer where their sizes differ), with exact p values.

    A group may have one number: the spread is that within all groups.
    Empty where `anova` is None, or where no group has any spread.

    Raises:
        MissingExtra: scipy is not installed.
    """
    stats = scipy_stats()
    if not _testable(groups) or all(len(set(numbers)) == 1 for numbers in groups.values()):
        return []
    groups, unit = _in_units(groups)
    means = {name: math.fsum(numbers) / len(numbers) for name, numbers in groups.items()}
    freedom = sum(map(len, groups.values())) - len(groups)
    squares = math.fsum((x - means[name]) ** 2 for name, numbers in groups.items() for x in numbers)
    quantile = float(stats.studentized_range.ppf(level, len(groups), freedom))
    found = []
    for first, second in combinations(groups, 2):
        error = math.sqrt(squares / freedom / 2 * (1 / len(groups[first]) + 1 / len(groups[second])))
        difference = means[second] - means[first]
        p = float(stats.studentized_range.sf(abs(difference) / error, len(groups), freedom))
        low, high = (unit * (difference + sign * quantile * error) for sign in (-1, 1))
        found.append(Pairwise(first, second, unit * difference, low, high, p))
    return found


def binomial(wins: int, losses: int) -> float:
    """The two-sided p of an exact binomial test that wins and losses are equally likely; 1 without either.

    Raises:
        BadSetting: a number is negative. MissingExtra: scipy is not installed.
    """
    if wins < 0 or losses < 0:
        raise BadSetting(f"wins = {wins} and losses = {losses}; neither may be negative")
    return float(scipy_stats().binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def _in_units(groups: Mapping[str, Sequence[float]]) -> tuple[dict[str, list[float]], float]:
    """The groups divided by a power of two, and this number: squares of large numbers overflow."""
    unit = unit_of([number for numbers in groups.values() for number in numbers])
    return {name: [number / unit for number in numbers] for name, numbers in groups.items()}, unit


def _testable(groups: Mapping[str, Sequence[float]]) -> bool:
    numbers = [number for group in groups.values() for number in group]
    if not all(map(math.isfinite, numbers)):
        raise BadSetting("a number is not finite; tests take finite numbers")
    full = len(groups) > 1 and all(len(group) > 0 for group in groups.values())
    return full and len(numbers) > len(groups) and len(set(numbers)) > 1


def scipy_stats() -> ModuleType:
    """scipy's distributions and tests; MissingExtra without scipy."""
    try:
        from scipy import stats
    except ImportError as error:
        raise MissingExtra("the tests of a study (scipy)", "metrics") from error
    module: ModuleType = stats
    return module
