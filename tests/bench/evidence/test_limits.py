"""Intervals of columns with a known range end at it."""

import math
from types import SimpleNamespace

import pytest

from loquent.bench.evidence.outcome import Outcome
from loquent.bench.evidence.rows import row
from loquent.bench.schema.suite_schema import Column, Entry
from loquent.report.ceiling import EVERYTHING, cut, limits
from loquent.statistics.intervals import interval

SHARES = 0.0, 1.0


@pytest.mark.parametrize(
    ("metric", "ends"),
    [
        ("success", SHARES),
        ("ended/solved", SHARES),
        ("success/kind=tower", SHARES),
        ("scored/squad", SHARES),
        ("sentiment/positive", SHARES),
        ("judge/positive", SHARES),
        ("score/token_f1", SHARES),
        ("ranking/adversarial-branch", SHARES),
        ("diversity/distinct-2", SHARES),
        ("diversity/mean_length", EVERYTHING),
        ("watch/distinct_2", SHARES),
        ("watch/words", EVERYTHING),
        ("meteor-exact-stem", SHARES),
        ("parent", SHARES),
        ("sacrebleu", SHARES),
        ("chrf", SHARES),
        ("ter", (0.0, math.inf)),
        ("cider", (0.0, math.inf)),
        ("bert_score", EVERYTHING),
        ("perplexity", (1.0, math.inf)),
        ("kl/reference", (0.0, math.inf)),
        ("return", EVERYTHING),
        ("reward/sentiment", EVERYTHING),  # of several turns
        ("reward/upvotes", (-1.0, 1.0)),
        ("reward/toxicity", (0.0, 2.0)),
        ("reward/noised_toxicity", (0.0, 2.0)),
        ("reward/upvotes_of_mine", EVERYTHING),
        ("judges", EVERYTHING),
    ],
)
def test_the_range_of_a_metric(metric, ends):
    assert limits(metric, [1.0]) == ends


def test_a_value_outside_shows_another_metric():
    assert limits("sentiment/positive", [0.5, 1.5]) == EVERYTHING


def test_an_interval_of_shares_has_no_end_above_1():
    found = interval([0.9, 0.95, 0.995])
    assert found.high > 1
    assert cut(found, SHARES) == type(found)(found.mean, found.low, 1.0, found.deviation, 3)
    assert cut(found, EVERYTHING) == found
    assert cut(interval([0.5]), SHARES) == interval([0.5])


def test_a_row_has_intervals_within_the_range_of_its_columns():
    suite = SimpleNamespace(
        columns={"solved": Column(metric="success"), "points": Column(metric="return")},
        cells={"x": Entry(recipe="r")},
        paper="",
    )
    outcomes = {
        str(seed): Outcome(
            str(seed), evaluation={"task": "t", "n": 9, "values": {"success": value, "return": value}}
        )
        for seed, value in enumerate((0.9, 0.95, 0.995))
    }
    found = row(suite, "x", {seed: str(seed) for seed in range(3)}, outcomes, {}).intervals
    assert found["solved"].high == 1.0 < found["points"].high
    assert found["solved"].low == found["points"].low
