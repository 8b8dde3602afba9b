"""Scores of texts by metrics: per sample, for the corpus, and bootstrap intervals of the corpus scores.

Each draw of the bootstrap computes the corpus score itself. If a metric has a tally (`metric.Tallied`: BLEU's
counts), a draw sums tallies. If the corpus score is the mean of the sample scores, on all samples and on a
few small test draws, a draw takes the mean. Any other metric is called again on each draw.

Means of scores that are 0 or 1 have intervals of shares, and are not drawn.

Samples with the same prompt are answers to one row, so they are no independent evidence. The bootstrap draws
prompts, each with all its samples; a sample without a prompt is drawn alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from loquent.core.metric import Measured, Metric, Samples, Scores, Tallied, traits
from loquent.core.seeding import Key
from loquent.errors import BadSetting, BrokenMetric
from loquent.metrics.making import blame
from loquent.statistics.clusters import members
from loquent.statistics.resampling import FEW, Bounds, Numbers, Resampling, Statistic, bounds, share

Column = NDArray[np.float64]
# small draws that test whether a corpus score is a mean
TEST_DRAWS, TEST_SAMPLES = 3, 8
TOLERANCE = 1e-9
ONE_PROMPT = (
    "all samples have the same prompt, which does not show how much the score depends on the prompt; without "
    "the field `prompt` the samples count as independent"
)
UNEQUAL = (
    "a few prompts have most of the samples: {} prompts weigh as much as {:.0f} with equal numbers. "
    "Intervals hold the true value less often than they say; take about as many samples of each prompt"
)
DUPLICATES = "this metric depends on duplicates, so a bootstrap interval would be wrong"


@dataclass
class Scored:
    """All scores of a list of texts.

    `bounds` has the corpus scores with intervals; `silent` names metrics without one.
    """

    corpus: dict[str, float] = field(default_factory=dict)
    samples: Scores = field(default_factory=dict)
    bounds: dict[str, Bounds] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)


def score(
    metrics: Mapping[str, Metric],
    samples: Samples,
    resampling: Resampling | None = None,
    done: Callable[[], None] = lambda: None,
) -> Scored:
    """Score the texts by all metrics.

    Args:
        resampling: the method of the intervals; None for no intervals.
        done: called after each metric and, with intervals, after each draw of each metric: `work(...)` times
            at most.

    Raises:
        BadSetting: two metrics return the same key.
        BrokenMetric: a metric returns NaN, an infinity, or a list of the wrong length.
    """
    result = Scored()
    for name, metric in metrics.items():
        if (reads := traits(metric).reads) != "answer":
            what = "turns" if reads == "turn" else "whole episodes"
            raise BadSetting(f"{name} reads {what}, and these are texts; measure it in a run")
        measured = finite(name, metric, samples)
        keys = result.corpus.keys() & measured.corpus.keys() | result.samples.keys() & measured.samples.keys()
        if keys:
            raise BadSetting(
                f"two metrics give {min(keys)!r}; each key must be from one metric. "
                "Write NAME=METRIC to give a metric another name, which becomes the prefix of its keys"
            )
        result.corpus |= measured.corpus
        result.samples |= measured.samples
        if not measured.corpus:
            result.silent.append(name)
        done()
        if resampling:
            result.bounds |= _bounds(name, metric, samples, measured, resampling, done)
    if caution := _unequal(samples):
        result.bounds = {
            key: replace(found, caution=caution) if found.low is not None else found
            for key, found in result.bounds.items()
        }
    return result


def rows(samples: Samples) -> list[str | int]:
    """The row of each sample: its prompt, or its number if it has none."""
    return [prompt or number for number, prompt in enumerate(samples.prompts)]


def _unequal(samples: Samples) -> str:
    """The caution on prompts with very unequal numbers of samples; empty if there is none.

    With k_g samples of prompt g, the n samples weigh as much as n² / sum of k_g² prompts (Kish 1965).
    """
    counts = [len(own) for own in members(rows(samples))]
    equal = sum(counts) ** 2 / sum(count**2 for count in counts) if counts else 0.0
    return UNEQUAL.format(len(counts), equal) if equal < min(FEW, len(counts) / 2) else ""


def work(metrics: int, resampling: Resampling | None) -> int:
    """The largest number of calls of `done` by `score`."""
    return metrics * (1 + (resampling.resamples if resampling else 0))


def _bounds(
    name: str,
    metric: Metric,
    samples: Samples,
    measured: Measured,
    resampling: Resampling,
    done: Callable[[], None],
) -> dict[str, Bounds]:
    prompts = members(rows(samples))
    if len(samples) < 2 or not measured.corpus:
        return bounds(lambda numbers: {}, len(samples), measured.corpus, resampling)
    if len(prompts) < 2:
        return dict.fromkeys(measured.corpus, Bounds(why=ONE_PROMPT))

    def intervals(statistic: Statistic, values: dict[str, float]) -> dict[str, Bounds]:
        return bounds(
            lambda drawn: statistic(np.concatenate([prompts[number] for number in drawn])),
            len(prompts),
            values,
            resampling,
            done,
        )

    if isinstance(metric, Tallied):
        return intervals(_tallied(metric, samples), measured.corpus)
    # a judge is not asked again: its corpus score is the mean over the samples that it judged
    tests = 0 if traits(metric).fallible else TEST_DRAWS
    means = means_of_samples(lambda drawn: finite(name, metric, drawn), samples, measured, tests)
    others = {key: value for key, value in measured.corpus.items() if key not in means}
    refused: dict[str, Bounds] = {}
    if others:
        doubled = finite(name, metric, samples.take([*range(len(samples))] * 2)).corpus
        refused = {
            key: Bounds(why=DUPLICATES)
            for key, value in others.items()
            if not _close(doubled.get(key), value)
        }
    call_again = others.keys() - refused.keys()

    def statistic(numbers: Numbers) -> dict[str, float]:
        scores = {
            key: value for key, column in means.items() if (value := _mean(column[numbers])) is not None
        }
        if call_again:
            scores |= finite(name, metric, samples.take(numbers.tolist())).corpus
        return scores

    shares = {
        key: _share(column, rows(samples), resampling) for key, column in means.items() if _is_share(column)
    }
    drawn = {key: value for key, value in measured.corpus.items() if key not in refused | shares}
    return refused | shares | (intervals(statistic, drawn) if drawn else {})


def _is_share(column: Column) -> bool:
    """Whether the scores are 0 and 1, and no other."""
    return set(column[~np.isnan(column)].tolist()) == {0.0, 1.0}


def _share(column: Column, rows: Sequence[str | int], resampling: Resampling) -> Bounds:
    present = np.flatnonzero(~np.isnan(column)).tolist()
    scored = [rows[number] for number in present]
    if len(set(scored)) < 2:
        return Bounds(why=ONE_PROMPT)
    return share(column[present].tolist(), scored, resampling.level)


def _tallied(metric: Tallied, samples: Samples) -> Statistic:
    rows = metric.tally(samples)
    tally = np.asarray(rows, dtype=np.float64)

    def statistic(numbers: Numbers) -> dict[str, float]:
        return metric.of_tally(np.bincount(numbers, minlength=len(tally)) @ tally)

    return statistic


def means_of_samples(
    measure: Callable[[Samples], Measured], samples: Samples, measured: Measured, tests: int = TEST_DRAWS
) -> dict[str, Column]:
    """The sample scores of the keys whose corpus score is their mean, independent of the other samples.

    Returns:
        float64[samples] by key; NaN for a sample without a score.
    """
    means: dict[str, Column] = {}
    for key, value in measured.corpus.items():
        column = np.array([math.nan if score is None else score for score in measured.samples.get(key, ())])
        if _close(_mean(column), value):
            means[key] = column
    for number in range(tests if means else 0):
        # the stream's name is "tried": another name would draw other samples
        drawn = (
            Key(0, ("tried", number)).generator().integers(len(samples), size=min(len(samples), TEST_SAMPLES))
        )
        corpus = measure(samples.take(drawn.tolist())).corpus
        means = {
            key: column for key, column in means.items() if _close(_mean(column[drawn]), corpus.get(key))
        }
    return means


def _mean(scores: Column) -> float | None:
    present = scores[~np.isnan(scores)]
    return float(present.mean()) if len(present) else None


def _close(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    return math.isclose(left, right, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def finite(name: str, metric: Metric, samples: Samples) -> Measured:
    """The scores of a metric as finite Python numbers.

    Raises:
        BrokenMetric: it returned NaN, an infinity, or a list of the wrong length; or it is somebody's own and
            raised an error.
    """
    with blame(name):
        measured = metric(samples)
    for key, scores in measured.samples.items():
        if len(scores) != len(samples):
            raise BrokenMetric(
                f"the metric {name} gave {len(scores)} scores of {key} for {len(samples)} samples; one "
                "score per sample is needed, None for a sample without a score"
            )
        for row, value in zip(samples.rows, scores, strict=True):
            _check(value, name, key, f"sample {row.id}")
    for key, corpus in measured.corpus.items():
        _check(corpus, name, key, "the corpus")
    columns: Scores = {
        key: [None if score is None else float(score) for score in scores]
        for key, scores in measured.samples.items()
    }
    corpus_scores = {key: float(corpus) for key, corpus in measured.corpus.items()}
    return replace(measured, samples=columns, corpus=corpus_scores)


def _check(value: float | None, name: str, key: str, place: str) -> None:
    if value is not None and not math.isfinite(value):
        raise BrokenMetric(
            f"the metric {name} gave {value} as {key} of {place}; a finite number is allowed. "
            "Leave the score out where the metric does not apply (None for a sample)"
        )
