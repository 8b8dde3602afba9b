"""The page of a study: means, distributions and differences as plots, and all numbers as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from loquent.bench.study.summary import Alphas, QuestionRatings, Score, Study, Wins
from loquent.report.charts import COLOURS, HEIGHT, ChartIds, Dot, dots, safe, short
from loquent.report.charts import WIDTH as WIDE
from loquent.report.markup import figure, table_of
from loquent.report.page import head
from loquent.statistics.of_groups import Anova, Pairwise
from loquent.statistics.repeated import Repeated
from loquent.statistics.resampling import Bounds

LEFT, BASE, TOP = 40, 40, 26  # of a chart of bars
SMALLEST = 1e-12
MEANS = "the mean of each item, systems as independent groups because they share fewer than two items"
WITHIN = "the mean of each item, systems compared within items"
UNITS = (
    "An item counts for the system that most of its raters prefer. The p of judgements counts each of them "
    "as independent, so it is too small where several raters judge an item."
)
POOLED = "each rating as if it were independent, as in arXiv:2210.01241"


def html(study: Study, level: float) -> str:
    """The page as text; `level` is the confidence level of its intervals."""
    ids = ChartIds()
    parts = [_question(ids, name, found, level) for name, found in study.ratings.items()]
    parts += [_pairs(ids, name, found, level) for name, found in study.wins.items()]
    title = "Loquent: a study"
    return (
        f"{head(title)}<header><h1>{safe(title)}</h1></header><main>{''.join(parts)}</main></body></html>\n"
    )


def interval(bounds: Bounds) -> str:
    """An interval as text, or the reason why there is none."""
    if bounds.low is None or bounds.high is None:
        return f"none: {bounds.why}"
    return f"{short(bounds.low)} to {short(bounds.high)}"


def cautions(bounds: Iterable[Bounds]) -> list[str]:
    """Why some intervals may be too narrow, each reason once."""
    return list(dict.fromkeys(one.caution for one in bounds if one.caution))


def _cautioned(bounds: Iterable[Bounds]) -> str:
    return "".join(f"<p>Caution: {safe(caution)}.</p>" for caution in cautions(bounds))


def _question(ids: ChartIds, name: str, found: QuestionRatings, level: float) -> str:
    means = [
        Dot(system, colour % COLOURS, one.mean, ends=_ends(one.bounds))
        for colour, (system, one) in enumerate(found.systems.items())
    ]
    rows = [
        [
            safe(system),
            str(one.n),
            str(one.items),
            str(one.raters),
            short(one.mean),
            safe(interval(one.bounds)),
        ]
        + [short(value) for value in one.alpha.values()]
        for system, one in found.systems.items()
    ]
    columns = ["system", "ratings", "items", "raters", "mean", f"{level:.0%} interval", *_names(found.alpha)]
    charts = figure("means", dots(ids, f"{name}: means", "rating", means))
    order = "In each group from left to right: " + ", ".join(found.systems)
    charts += figure("shares of ratings", _bars(ids, name, found), order)
    if found.repeated:
        tests = _repeated(ids, name, found.repeated, level)
    else:
        tests = _tests(ids, name, MEANS, found.items_anova, found.items_tukey, level)
    if found.tests_pooled:
        tests += _tests(ids, name, POOLED, found.anova, found.tukey, level)
    cautious = _cautioned(one.bounds for one in found.systems.values())
    alphas = ", ".join(f"{level} {short(value)}" for level, value in found.alpha.items())
    return (
        f"<section><h2>{safe(name)}</h2><p>Krippendorff's alpha over all answers: {safe(alphas)}.</p>"
        f"{_charts(charts)}{table_of(columns, rows)}{cautious}{tests}</section>"
    )


def _tests(
    ids: ChartIds, name: str, unit: str, anova: Anova | None, tukey: Sequence[Pairwise], level: float
) -> str:
    """The ANOVA and the differences of all pairs, with `unit` as what a number stands for."""
    text = f"<h3>Tests, {unit}</h3><p>{safe(variance(anova))}</p>"
    if not tukey:
        return text
    labels = [f"{one.second} − {one.first}" for one in tukey]
    drawn = [
        Dot(label, colour, one.difference, ends=(one.low, one.high))
        for colour, (label, one) in enumerate(zip(labels, tukey, strict=True))
    ]
    chart = dots(ids, f"{name}: differences, {unit}", "difference", drawn)
    rows = [
        [
            safe(label),
            short(one.difference),
            f"{short(one.low)} to {short(one.high)}",
            safe(probability(one.p).removeprefix("= ")),
        ]
        for label, one in zip(labels, tukey, strict=True)
    ]
    columns = ["pair", "difference", f"{level:.0%} interval", "p"]
    return text + _charts(figure("differences (Tukey HSD)", chart)) + table_of(columns, rows)


def _repeated(ids: ChartIds, name: str, found: Repeated, level: float) -> str:
    """The tests of systems within items."""
    labels = [f"{one.second} − {one.first}" for one in found.pairs]
    drawn = [
        Dot(label, colour, one.difference, ends=one.ends)
        for colour, (label, one) in enumerate(zip(labels, found.pairs, strict=True))
    ]
    rows = [
        [
            safe(label),
            str(one.items),
            short(one.difference),
            f"{short(one.low)} to {short(one.high)}",
            *(safe(probability(p).removeprefix("= ")) for p in (one.p, one.rank_p)),
        ]
        for label, one in zip(labels, found.pairs, strict=True)
    ]
    columns = ["pair", "items", "difference", f"{level:.0%} interval", "p (paired t, Bonferroni)"]
    columns.append("p (signed ranks, Holm)")
    chart = _charts(figure("differences within items", dots(ids, f"{name}: {WITHIN}", "difference", drawn)))
    lines = "".join(f"<p>{safe(line)}</p>" for line in within_items(found))
    return f"<h3>Tests, {WITHIN}</h3>{lines}{chart}{table_of(columns, rows)}"


def _charts(figures: str) -> str:
    return f'<div class="charts">{figures}</div>'


def _pairs(ids: ChartIds, name: str, found: Sequence[Wins], level: float) -> str:
    shares = [
        Dot(f"{one.first} against {one.second}", i, one.share, ends=_ends(one.bounds))
        for i, one in enumerate(found)
        if one.share is not None
    ]
    rows = [
        [
            safe(f"{one.first} against {one.second}"),
            *(safe(cell) for part in (one.items, one) for cell in _score(part)),
            short(one.share),
            safe(interval(one.bounds)),
            short(one.alpha),
        ]
        for one in found
    ]
    cautious = _cautioned(one.bounds for one in found)
    columns = ["pair", "items: wins", "losses", "ties", "p", "judgements: wins", "losses", "ties", "p"]
    columns += ["share", f"{level:.0%} interval", "alpha"]
    chart = (
        _charts(figure("shares of wins", dots(ids, f"{name}: shares of wins", "share of wins", shares)))
        if shares
        else ""
    )
    why = f"<p>{safe(UNITS)}</p>"
    head = f"<section><h2>{safe(name)}: preferences</h2>{chart}"
    return f"{head}{table_of(columns, rows)}{why}{cautious}</section>"


def _score(counted: Score | Wins) -> list[str]:
    counts = (counted.wins, counted.losses, counted.ties)
    return [*map(str, counts), probability(counted.p).removeprefix("= ")]


def probability(p: float | None) -> str:
    """A p value as text; scipy's are not known better than 1e-12."""
    if p is None:
        return "unknown"
    return "< 1e-12" if p < SMALLEST else f"= {short(p)}"


def within_items(found: Repeated) -> list[str]:
    """The tests of all systems within items as texts."""
    left = f"; {found.left_out:,} items that a system lacks are left out" if found.left_out else ""
    lines = [f"{found.items:,} items of all systems{left}."]
    if found.within is None:
        return [*lines, "No test: the systems are equal in each item."]
    f, ranks = found.within, found.friedman
    lines.append(
        "Repeated measures: no test, because the systems differ by the same amounts in each item."
        if f.p is None
        else f"Repeated measures: F({f.between}, {f.within}) = {short(f.f)}, p {probability(f.p)} "
        f"(Greenhouse-Geisser, epsilon {short(f.epsilon)})."
    )
    if ranks is not None:
        chi = short(ranks.chi_squared)
        lines.append(f"Friedman: chi-squared({ranks.freedom}) = {chi}, p {probability(ranks.p)}.")
    return lines


def variance(anova: Anova | None) -> str:
    """A one-way ANOVA as text."""
    if anova is None:
        return "One-way ANOVA: none; it takes two systems with differing ratings."
    return f"One-way ANOVA: F({anova.between}, {anova.within}) = {short(anova.f)}, p {probability(anova.p)}."


def _bars(ids: ChartIds, name: str, found: QuestionRatings) -> str:
    """The share of each rating, one bar for each system."""
    values = sorted({value for one in found.systems.values() for value in one.counts})
    systems = list(found.systems.items())
    step = (WIDE - LEFT - 10) / len(values)
    width = 0.8 * step / len(systems)
    body, texts, places = [], [], count()
    for value in values:
        left = LEFT + step * next(places)
        for i, (system, one) in enumerate(systems):
            share = one.counts.get(value, 0) / one.n
            height = share * (HEIGHT - BASE - TOP)
            text = f"{system}: {share:.0%} of its ratings are {value:g}"
            texts.append(text)
            body.append(
                f'<g><title>{safe(text)}</title><path class="line c{i % COLOURS} d0" '
                f'style="stroke-width:{width:.1f};stroke-linecap:butt" '
                f'd="M{left + (i + 0.75) * width:.1f} {HEIGHT - BASE}v{-height:.1f}"/></g>'
            )
        body.append(
            f'<text class="axis" x="{left + 0.4 * step:.1f}" y="{HEIGHT - BASE + 16}" '
            f'text-anchor="middle">{value:g}</text>'
        )
    return ids.chart("".join(body), HEIGHT, f"{name}: shares of ratings", "; ".join(texts))


def _names(alphas: Alphas) -> list[str]:
    return [f"alpha, {level}" for level in alphas]


def _ends(bounds: Bounds) -> tuple[float, float] | None:
    return None if bounds.low is None or bounds.high is None else (bounds.low, bounds.high)
