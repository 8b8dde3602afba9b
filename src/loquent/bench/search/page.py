"""The page of a search: the best trial and how to train it, charts of the settings, and all trials."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from loquent.bench.search.results import Results, setting_text
from loquent.bench.search.space import Choices, Dimension
from loquent.report import kit
from loquent.report.charts import ChartIds, Curve, Dot, Drawing, curves, dots
from loquent.report.groups import Point
from loquent.report.kit import Block, Figure, Figures, Heading, Text
from loquent.statistics.tables import short

OTHERS, BEST = 1, 0  # the colours of trials


def html(results: Results) -> str:
    """The page as text."""
    return kit.page(f"Loquent: a search for {results.recipe.name}", _blocks(results))


def summary(results: Results) -> str:
    """The sizes of the search, how its trials were chosen, and what it cost, as sentences."""
    plan, tuning = results.plan, results.tuning
    better = "higher" if plan.higher else "lower"
    sampler = "drawn at random" if plan.sampler == "random" else f"proposed by {plan.sampler_version} (TPE)"
    runs = f"{plan.seeds} seeds each" if plan.seeds > 1 else "one seed each"
    text = (
        f"{plan.trials} trials, {sampler}, {runs}. The value of a trial is its mean {plan.metric} on the "
        f"split {tuning.split} ({better} is better). In all {tuning.updates:,} updates, {tuning.episodes:,} "
        f"episodes and {tuning.seconds:,.0f} seconds."
    )
    if len(plan.rungs) > 1:
        rungs = ", ".join(map(str, plan.rungs))
        text += f" After each rung ({rungs} updates) the best {plan.keep:.0%} of its trials went on."
        if why := results.recipe.config.spread_over_run():
            text += f" Each rung trained anew: {why}."
    if (ties := len(results.ties)) > 1:
        text += f" {ties} trials tie with the best value; the first of them is named."
    return text


def _blocks(results: Results) -> list[Block]:
    blocks: list[Block] = [Text(summary(results))]
    if results.best is None:
        blocks.append(Text("**All trials failed.** The table says why."))
    else:
        value = results.rungs[results.last_rung(results.best)][results.best]
        blocks.append(
            Text(
                f"**Trial {results.best} is the best**: {results.plan.metric} {short(value)}. To train it "
                "with the final evaluation of the recipe: `loquent train best.yaml --out best`, in the "
                "folder of the search. The value chose the trial, so it is too good; that evaluation is not."
            )
        )
        blocks += [Heading("Settings and values"), Figures(_figures(results))]
    return [*blocks, Heading("All trials"), results.table()]


def _figures(results: Results) -> list[Figure]:
    ids, values = ChartIds(), results.rungs[0]
    present = {trial: value for trial, value in values.items() if value is not None}
    figures = [_of_setting(ids, results, dimension, present) for dimension in results.space]
    return [_rungs(ids, results), *figures] if len(results.plan.rungs) > 1 else figures


def _of_setting(ids: ChartIds, results: Results, dimension: Dimension, values: Mapping[int, float]) -> Figure:
    """The values of the first rung against a setting."""
    metric, path = results.plan.metric, dimension.path
    after = f"after {results.plan.rungs[0]} updates"
    settings = {trial: results.journal.proposals[trial][path] for trial in values}
    if isinstance(dimension, Choices):
        return Figure(path, _choices(ids, f"{path} {after}", metric, dimension, settings, values))
    log = dimension.log
    places = {trial: math.log10(setting) if log else setting for trial, setting in settings.items()}
    lines = [
        Curve(
            f"trial {trial}",
            BEST if trial == results.best else OTHERS,
            [Point(places[trial], value, value, value, 1)],
        )
        for trial, value in values.items()
    ]
    drawing = curves(ids, f"{path} {after}", metric, lines, across=f"log10 of {path}" if log else path)
    return Figure(path, drawing, legend=_legend(lines))


def _choices(
    ids: ChartIds,
    title: str,
    metric: str,
    dimension: Choices,
    settings: Mapping[int, object],
    values: Mapping[int, float],
) -> Drawing:
    """The mean value of the trials with each choice, between the least and the greatest."""
    shown = []
    for number, choice in enumerate(dimension.values):
        own = [values[trial] for trial, setting in settings.items() if setting == choice]
        if own:
            label = f"{setting_text(choice)} (trials: {len(own)})"
            mean = math.fsum(own) / len(own)
            shown.append(Dot(label, number, mean, ends=(min(own), max(own))))
    return dots(ids, title, metric, shown)


def _rungs(ids: ChartIds, results: Results) -> Figure:
    """The value of each trial after each of its rungs."""
    lines = []
    for trial in results.rungs[0]:
        at = zip(results.plan.rungs, results.rungs, strict=True)
        course = [(updates, own[trial]) for updates, own in at if own.get(trial) is not None]
        points = [
            Point(float(updates), value, value, value, 1) for updates, value in course if value is not None
        ]
        colour = BEST if trial == results.best else OTHERS
        lines += [Curve(f"trial {trial}", colour, points)] if points else []
    drawing = curves(ids, "Trials by rung", results.plan.metric, lines)
    return Figure("Trials by rung", drawing, legend=_legend(lines))


def _legend(lines: list[Curve]) -> list[Curve]:
    """One curve for the best trial, and one for the others."""
    named = {BEST: "the best trial", OTHERS: "other trials"}
    first = {line.colour: line for line in reversed(lines)}
    return [replace(first[colour], label=text) for colour, text in named.items() if colour in first]
