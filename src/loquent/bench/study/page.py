"""The page of a study: means, distributions and differences as plots, and all numbers as tables.

The same blocks without the plots are what `loquent study` prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from loquent.bench.study.summary import QuestionRatings, Score, Study, Wins
from loquent.report import kit
from loquent.report.charts import COLOURS, ChartIds, Dot, bars, dots
from loquent.report.kit import Block, Figure, Figures, Heading, Text
from loquent.statistics.of_groups import Anova, Pairwise
from loquent.statistics.repeated_measures import Repeated
from loquent.statistics.resampling import Bounds
from loquent.statistics.tables import Table, short

SMALLEST = 1e-12
MEANS = "the mean of each item, systems as independent groups because they share fewer than two items"
WITHIN = "the mean of each item, systems compared within items"
UNITS = (
    "An item counts for the system that most of its raters prefer. The p of judgements counts each of them "
    "as independent, so it is too small where several raters judge an item."
)
POOLED = "each rating as if it were independent, as in arXiv:2210.01241"


TITLE = "Loquent: a study"


def html(study: Study, level: float) -> str:
    """The page as text; `level` is the confidence level of its intervals."""
    return kit.page(TITLE, blocks(study, level))


def markdown(study: Study, level: float) -> str:
    """The texts and tables of the page as Markdown."""
    return kit.markdown(TITLE, blocks(study, level))


def blocks(study: Study, level: float) -> list[Block]:
    """The page as blocks."""
    ids = ChartIds()
    found = [block for name, rated in study.ratings.items() for block in _question(ids, name, rated, level)]
    return found + [block for name, won in study.wins.items() for block in _pairs(ids, name, won, level)]


def _interval(bounds: Bounds) -> str:
    """An interval as text, or the reason why there is none."""
    return f"none: {bounds.why}" if bounds.low is None else _span(bounds.low, bounds.high)


def _span(low: float | None, high: float | None) -> str:
    return "none" if low is None or high is None else f"{short(low)} to {short(high)}"


def _cautioned(bounds: Iterable[Bounds]) -> list[Block]:
    """Why some intervals may be too narrow, each reason once."""
    reasons = dict.fromkeys(one.caution for one in bounds if one.caution)
    return [Text(f"Caution: {reason}.") for reason in reasons]


def _question(ids: ChartIds, name: str, found: QuestionRatings, level: float) -> list[Block]:
    means = [
        Dot(system, colour % COLOURS, one.mean, ends=_ends(one.bounds))
        for colour, (system, one) in enumerate(found.systems.items())
    ]
    shares = {
        system: {value: count / one.n for value, count in one.counts.items()}
        for system, one in found.systems.items()
    }
    rows = [
        [system, one.n, one.items, one.raters, short(one.mean), _interval(one.bounds)]
        + [short(value) for value in one.alpha.values()]
        for system, one in found.systems.items()
    ]
    columns = ["system", "ratings", "items", "raters", "mean", f"{level:.0%} interval"]
    columns += [f"alpha, {measured}" for measured in found.alpha]
    order = "In each group from left to right: " + ", ".join(found.systems)
    if found.repeated:
        tests = _repeated(ids, name, found.repeated, level)
    else:
        tests = _tests(ids, name, MEANS, found.items_anova, found.items_tukey, level)
    if found.tests_pooled:
        tests += _tests(ids, name, POOLED, found.anova, found.tukey, level)
    counted = bars(ids, f"{name}: shares of ratings", "ratings", shares)
    alphas = ", ".join(f"{measured} {short(value)}" for measured, value in found.alpha.items())
    return [
        Heading(name),
        Text(f"Krippendorff's alpha over all answers: {alphas}."),
        Figures(
            [
                Figure("means", dots(ids, f"{name}: means", "rating", means)),
                Figure("shares of ratings", counted, order),
            ]
        ),
        Table(columns, rows),
        *_cautioned(one.bounds for one in found.systems.values()),
        *tests,
    ]


def _tests(
    ids: ChartIds, name: str, unit: str, anova: Anova | None, tukey: Sequence[Pairwise], level: float
) -> list[Block]:
    """The ANOVA and the differences of all pairs, with `unit` as what a number stands for."""
    head = [Heading(f"Tests, {unit}", 3), Text(_variance(anova))]
    if not tukey:
        return head
    drawn = [
        Dot(_pair(one), colour, one.difference, ends=(one.low, one.high)) for colour, one in enumerate(tukey)
    ]
    rows = [[_pair(one), short(one.difference), _span(one.low, one.high), _p(one.p)] for one in tukey]
    chart = dots(ids, f"{name}: differences, {unit}", "difference", drawn)
    table = Table(["pair", "difference", f"{level:.0%} interval", "p"], rows)
    return [*head, Figures([Figure("differences (Tukey HSD)", chart)]), table]


def _repeated(ids: ChartIds, name: str, found: Repeated, level: float) -> list[Block]:
    """The tests of systems within items."""
    drawn = [Dot(_pair(one), colour, one.difference, ends=one.ends) for colour, one in enumerate(found.pairs)]
    rows = [
        [
            *(_pair(one), one.items, short(one.difference), _span(one.low, one.high)),
            *map(_p, (one.p, one.rank_p)),
        ]
        for one in found.pairs
    ]
    columns = ["pair", "items", "difference", f"{level:.0%} interval", "p (paired t, Bonferroni)"]
    columns.append("p (signed ranks, Holm)")
    chart = dots(ids, f"{name}: {WITHIN}", "difference", drawn)
    return [
        Heading(f"Tests, {WITHIN}", 3),
        *map(Text, _within_items(found)),
        Figures([Figure("differences within items", chart)]),
        Table(columns, rows),
    ]


def _pairs(ids: ChartIds, name: str, found: Sequence[Wins], level: float) -> list[Block]:
    shares = [
        Dot(f"{one.first} against {one.second}", i, one.share, ends=_ends(one.bounds))
        for i, one in enumerate(found)
        if one.share is not None
    ]
    rows = [
        [
            *(f"{one.first} against {one.second}", *_score(one.items), *_score(one)),
            *(short(one.share), _interval(one.bounds), short(one.alpha)),
        ]
        for one in found
    ]
    columns = ["pair", "items: wins", "losses", "ties", "p", "judgements: wins", "losses", "ties", "p"]
    columns += ["share", f"{level:.0%} interval", "alpha"]
    charts = []
    if shares:
        chart = dots(ids, f"{name}: shares of wins", "share of wins", shares)
        charts = [Figures([Figure("shares of wins", chart)])]
    return [
        Heading(f"{name}: preferences"),
        *charts,
        Table(columns, rows),
        Text(UNITS),
        *_cautioned(one.bounds for one in found),
    ]


def _pair(one: Any) -> str:
    return f"{one.second} − {one.first}"


def _p(p: float | None) -> str:
    return _probability(p).removeprefix("= ")


def _score(counted: Score | Wins) -> list[str]:
    counts = (counted.wins, counted.losses, counted.ties)
    return [*map(str, counts), _p(counted.p)]


def _probability(p: float | None) -> str:
    """A p value as text; scipy's are not known better than 1e-12."""
    if p is None:
        return "unknown"
    return "< 1e-12" if p < SMALLEST else f"= {short(p)}"


def _within_items(found: Repeated) -> list[str]:
    """The tests of all systems within items as texts."""
    left = f"; {found.left_out:,} items that a system lacks are left out" if found.left_out else ""
    lines = [f"{found.items:,} items of all systems{left}."]
    if found.within is None:
        return [*lines, "No test: the systems are equal in each item."]
    f, ranks = found.within, found.friedman
    lines.append(
        "Repeated measures: no test, because the systems differ by the same amounts in each item."
        if f.p is None
        else f"Repeated measures: F({f.between}, {f.within}) = {short(f.f)}, p {_probability(f.p)} "
        f"(Greenhouse-Geisser, epsilon {short(f.epsilon)})."
    )
    if ranks is not None:
        chi = short(ranks.chi_squared)
        lines.append(f"Friedman: chi-squared({ranks.freedom}) = {chi}, p {_probability(ranks.p)}.")
    return lines


def _variance(anova: Anova | None) -> str:
    """A one-way ANOVA as text."""
    if anova is None:
        return "One-way ANOVA: none; it takes two systems with differing ratings."
    return f"One-way ANOVA: F({anova.between}, {anova.within}) = {short(anova.f)}, p {_probability(anova.p)}."


def _ends(bounds: Bounds) -> tuple[float, float] | None:
    return None if bounds.low is None or bounds.high is None else (bounds.low, bounds.high)
