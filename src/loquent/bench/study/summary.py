"""What judgements say: agreement, means with intervals, tests between systems, and shares of wins."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from loquent.core.guards.json_files import finite
from loquent.data.preferences.judgements import Judgements, Preference, Rating
from loquent.statistics import agreement, of_groups, resampling
from loquent.statistics.of_groups import Anova, Pairwise
from loquent.statistics.repeated_measures import Repeated, compare_systems
from loquent.statistics.resampling import Bounds, Numbers, Resampling

Alphas = dict[str, float | None]


@dataclass(frozen=True)
class SystemRatings:
    """The ratings of one system on one question; the interval resamples items."""

    n: int
    items: int
    raters: int
    mean: float
    bounds: Bounds
    alpha: Alphas
    counts: dict[float, int]


@dataclass(frozen=True)
class QuestionRatings:
    """The ratings on one question.

    Ratings of one item by several raters are not independent, so a number of a test is the mean of an item.
    `repeated` compares the systems within the items that all of them have. Without two such items it is None,
    and `items_anova` and `items_tukey` compare the systems as independent groups of items; else these are
    None and empty. `anova` and `tukey` take each rating as an independent number, as arXiv:2210.01241 does.
    """

    systems: dict[str, SystemRatings]
    alpha: Alphas
    anova: Anova | None
    tukey: list[Pairwise]
    repeated: Repeated | None
    items_anova: Anova | None
    items_tukey: list[Pairwise]

    @property
    def rated_once(self) -> bool:
        """Whether each item of a system has one rating, so that both kinds of tests are the same."""
        return all(one.n == one.items for one in self.systems.values())

    @property
    def tests_pooled(self) -> bool:
        """Whether `anova` and `tukey` say something that the tests over items do not."""
        return self.repeated is not None or not self.rated_once


@dataclass(frozen=True)
class Score:
    """Wins, losses and ties, and the two-sided p of an exact binomial test without the ties."""

    wins: int
    losses: int
    ties: int
    p: float


@dataclass(frozen=True)
class Wins:
    """How often the first of two systems was preferred; ties count for neither.

    `wins`, `losses`, `ties` and `p` count each judgement as independent, as arXiv:2210.01241 does. Judgements
    of one item by several raters are not: `items` counts each item once, for the system that most of its
    raters prefer. `share` is wins / (wins + losses), None without either; its interval takes items as the
    independent units. `alpha` is the nominal agreement of the raters.
    """

    first: str
    second: str
    wins: int
    losses: int
    ties: int
    p: float
    items: Score
    share: float | None
    bounds: Bounds
    alpha: float | None


@dataclass(frozen=True)
class Study:
    """The ratings by question, and the wins by question."""

    ratings: dict[str, QuestionRatings] = field(default_factory=dict)
    wins: dict[str, list[Wins]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """All numbers by name; None for those that are not finite, such as F without spread in groups."""
        numbers: dict[str, Any] = finite(asdict(self))
        return numbers


def study(judgements: Judgements, settings: Resampling | None = None) -> Study:
    """The summary of judgements.

    Args:
        settings: of the bootstrap; its `level` is that of the intervals of Tukey and of shares too.

    Raises:
        MissingExtra: scipy is not installed.
    """
    settings = settings or Resampling()
    ratings = {question: _ratings(found, settings) for question, found in _by(judgements.ratings).items()}
    wins = {question: _wins(found, settings) for question, found in _by(judgements.preferences).items()}
    return Study(ratings, wins)


def _by(judged: Sequence[Any], name: str = "question") -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = defaultdict(list)
    for one in judged:
        groups[getattr(one, name)].append(one)
    return dict(groups)


def _ratings(ratings: list[Rating], settings: Resampling) -> QuestionRatings:
    by_system = _by(ratings, "system")
    values = {system: [one.value for one in found] for system, found in by_system.items()}
    means = {system: _means(found) for system, found in by_system.items()}
    within = compare_systems(means, settings.level)
    apart = {} if within else {system: list(own.values()) for system, own in means.items()}
    return QuestionRatings(
        {system: _system(found, settings) for system, found in by_system.items()},
        _alphas([unit for found in by_system.values() for unit in _units(found)]),
        of_groups.anova(values),
        of_groups.tukey(values, settings.level),
        within,
        of_groups.anova(apart),
        of_groups.tukey(apart, settings.level),
    )


def _system(ratings: list[Rating], settings: Resampling) -> SystemRatings:
    values = [one.value for one in ratings]
    units = _units(ratings)
    sums = np.array([sum(unit) for unit in units])
    sizes = np.array([len(unit) for unit in units])

    def mean(chosen: Numbers) -> dict[str, float]:
        return {"mean": float(sums[chosen].sum() / sizes[chosen].sum())}

    everything = float(sums.sum() / sizes.sum())
    return SystemRatings(
        len(values),
        len(units),
        len({one.rater for one in ratings}),
        everything,
        resampling.bounds(mean, len(units), {"mean": everything}, settings)["mean"],
        _alphas(units),
        {value: values.count(value) for value in sorted(set(values))},
    )


def _units(ratings: Sequence[Rating]) -> list[list[float]]:
    """The values of each item of one system, in the order of the items."""
    return [[one.value for one in of_item] for of_item in _by(ratings, "item").values()]


def _means(ratings: Sequence[Rating]) -> dict[str, float]:
    """The mean of each item of one system."""
    return {item: float(np.mean([one.value for one in own])) for item, own in _by(ratings, "item").items()}


def _alphas(units: Sequence[Sequence[float]]) -> Alphas:
    return {level: agreement.alpha(units, level) for level in agreement.LEVELS}


def _wins(preferences: list[Preference], settings: Resampling) -> list[Wins]:
    systems = list(dict.fromkeys(name for one in preferences for name in (one.first, one.second)))
    found = []
    for first, second in combinations(systems, 2):
        items: dict[str, list[float]] = defaultdict(list)
        for one in preferences:
            if {one.first, one.second} == {first, second}:
                chosen = {"first": one.first, "second": one.second}.get(one.preferred)
                items[one.item].append(0.0 if chosen is None else 1.0 if chosen == first else -1.0)
        if items:
            found.append(_pair(first, second, items, settings))
    return found


def _pair(first: str, second: str, items: dict[str, list[float]], settings: Resampling) -> Wins:
    """The wins of `first`; `items` has 1, -1 or 0 (a tie) for each judgement of an item."""
    decided = [(value > 0, item) for item, values in items.items() for value in values if value]
    won, ties = sum(one for one, _ in decided), sum(values.count(0.0) for values in items.values())
    lost = len(decided) - won
    share = won / len(decided) if decided else None
    alpha = agreement.alpha(list(items.values()), "nominal")
    p = of_groups.binomial(won, lost)
    return Wins(first, second, won, lost, ties, p, _score(items), share, _share(decided, settings), alpha)


def _score(items: Mapping[str, Sequence[float]]) -> Score:
    """The wins, losses and ties of items, each decided by the majority of its judgements."""
    sums = [sum(values) for values in items.values()]
    won, lost = sum(one > 0 for one in sums), sum(one < 0 for one in sums)
    return Score(won, lost, len(sums) - won - lost, of_groups.binomial(won, lost))


def _share(decided: Sequence[tuple[bool, str]], settings: Resampling) -> Bounds:
    """The interval of the share of wins; `decided` has the outcome and the item of each judgement."""
    items = [item for _, item in decided]
    if len(set(items)) < 2:
        why = "one item does not show a spread" if items else "no judgement prefers either"
        return Bounds(why=why)
    return resampling.share([float(won) for won, _ in decided], items, settings.level)
