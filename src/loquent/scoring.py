"""Texts scored by metrics: per sample, for the corpus, and with bootstrap intervals of the corpus scores themselves.

A corpus score is drawn again as what it is. Where a metric keeps a tally (`metric.Tallied`: BLEU's counts), each draw adds up tallies.
Where the corpus score is the mean of its samples' scores, on the whole and on small draws that are tried first, each draw takes the mean
of the scores there are. Any other metric is called again on each draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from loquent.data.pairs import Pairs
from loquent.errors import BadSetting, BrokenMetric
from loquent.metric import Measured, Metric, Scores, Tallied
from loquent.resampling import Bounds, Numbers, Resampling, Statistic, bounds
from loquent.seeding import Key

Column = NDArray[np.float64]
TRIED, TRIED_SAMPLES = 3, 8  # small draws that show whether a corpus score is a mean
CLOSE = 1e-9
COUNTS = "it changes when every text stands there twice, so drawing texts again says nothing about it"


@dataclass
class Scored:
    """All scores of some texts. `bounds` has those corpus scores for which intervals were wanted."""

    corpus: dict[str, float] = field(default_factory=dict)
    samples: Scores = field(default_factory=dict)
    bounds: dict[str, Bounds] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)  # metrics that gave no corpus score


def score(metrics: Mapping[str, Metric], pairs: Pairs, resampling: Resampling | None = None, done: Callable[[], None] = lambda: None) -> Scored:
    """Score the texts by all metrics.

    Args:
        resampling: how intervals are made; None makes none.
        done: called for each metric and, with intervals, for each draw of each metric: `work(...)` times.

    Raises:
        BadSetting: two metrics give one key. BrokenMetric: a metric gave NaN, an infinity or a list of the wrong length.
    """
    whole = Scored()
    for name, metric in metrics.items():
        measured = _measured(name, metric, pairs)
        if twice := sorted(whole.corpus.keys() & measured.corpus.keys() | whole.samples.keys() & measured.samples.keys()):
            raise BadSetting(f"two metrics give {twice[0]!r}; NAME=METRIC gives one another name, which then stands before its keys")
        whole.corpus |= measured.corpus
        whole.samples |= measured.samples
        if not measured.corpus:
            whole.silent.append(name)
        done()
        if resampling:
            whole.bounds |= _bounds(name, metric, pairs, measured, resampling, done)
    return whole


def work(metrics: int, resampling: Resampling | None) -> int:
    """How often `score` calls `done`, at most."""
    return metrics * (1 + (resampling.resamples if resampling else 0))


def _bounds(name: str, metric: Metric, pairs: Pairs, measured: Measured, resampling: Resampling, done: Callable[[], None]) -> dict[str, Bounds]:
    if len(pairs) < 2 or not measured.corpus:
        return bounds(lambda numbers: {}, len(pairs), measured.corpus, resampling)
    if isinstance(metric, Tallied):
        return bounds(_tallied(metric, pairs), len(pairs), measured.corpus, resampling, done)
    means = means_of_samples(lambda chosen: _measured(name, metric, chosen), pairs, measured)
    others = {key: value for key, value in measured.corpus.items() if key not in means}
    refused: dict[str, Bounds] = {}
    if others:
        twice = _measured(name, metric, pairs.chosen([*range(len(pairs))] * 2)).corpus
        refused = {key: Bounds(why=COUNTS) for key, value in others.items() if not _close(twice.get(key), value)}
    again = [key for key in others if key not in refused]

    def statistic(numbers: Numbers) -> dict[str, float]:
        found = {key: value for key, column in means.items() if (value := _mean(column[numbers])) is not None}
        return found | (_measured(name, metric, pairs.chosen(numbers.tolist())).corpus if again else {})

    wanted = {key: value for key, value in measured.corpus.items() if key not in refused}
    return refused | bounds(statistic, len(pairs), wanted, resampling, done)


def _tallied(metric: Tallied, pairs: Pairs) -> Statistic:
    tally = np.asarray(metric.tally(pairs.predictions, pairs.references, pairs.prompts, pairs.rows), dtype=np.float64)

    def statistic(numbers: Numbers) -> dict[str, float]:
        return metric.of_tally(np.bincount(numbers, minlength=len(tally)) @ tally)

    return statistic


def means_of_samples(measure: Callable[[Pairs], Measured], pairs: Pairs, measured: Measured) -> dict[str, Column]:
    """The samples' scores (NaN for none) of the keys whose corpus score is their mean, and which do not depend on the other samples."""
    means: dict[str, Column] = {}
    for key, value in measured.corpus.items():
        column = np.array([math.nan if one is None else one for one in measured.samples.get(key, ())])
        if _close(_mean(column), value):
            means[key] = column
    for number in range(TRIED if means else 0):
        drawn = Key(0, ("tried", number)).generator().integers(len(pairs), size=min(len(pairs), TRIED_SAMPLES))
        corpus = measure(pairs.chosen(drawn.tolist())).corpus
        means = {key: column for key, column in means.items() if _close(_mean(column[drawn]), corpus.get(key))}
    return means


def _mean(scores: Column) -> float | None:
    there = scores[~np.isnan(scores)]
    return float(there.mean()) if len(there) else None


def _close(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)


def _measured(name: str, metric: Metric, pairs: Pairs) -> Measured:
    """What the metric gives, as plain numbers, each of which must be one."""
    found = metric(pairs.predictions, pairs.references, pairs.prompts, pairs.rows)
    for key, scores in found.samples.items():
        if len(scores) != len(pairs):
            raise BrokenMetric(f"the metric {name} gave {len(scores)} scores of {key} for {len(pairs)} samples; one each is right")
        for row, value in zip(pairs.rows, scores, strict=True):
            _check(value, name, key, f"sample {row.id}")
    for key, corpus in found.corpus.items():
        _check(corpus, name, key, "the corpus")
    samples: Scores = {key: [None if one is None else float(one) for one in scores] for key, scores in found.samples.items()}
    return Measured(samples, {key: float(corpus) for key, corpus in found.corpus.items()})


def _check(value: float | None, name: str, key: str, where: str) -> None:
    if value is not None and not math.isfinite(value):
        raise BrokenMetric(f"the metric {name} gave {value} as {key} of {where}; a finite number, or nothing where it does not apply, is right")
