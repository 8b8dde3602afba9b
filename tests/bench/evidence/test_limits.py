"""Intervals of columns with a known range end at it."""

import math
import sys
from types import SimpleNamespace

import pytest

from loquent.bench.evidence.outcome import Outcome
from loquent.bench.evidence.rows import row
from loquent.bench.schema.suite_schema import Column, Entry
from loquent.core import registry
from loquent.core.metric import EVERYTHING, SHARES
from loquent.report.ranges import cut, limits
from loquent.statistics.intervals import interval


def evaluation(value=0.5, key="score/f1", **content):
    return {"values": {key: value}, **content}


def recorded(low, high, **content):
    return evaluation(ranges={"score/f1": [low, high]}, **content)


@pytest.mark.parametrize(
    ("key", "ends"),
    [
        ("evaluation/success", SHARES),
        ("evaluation/ended/solved", SHARES),
        ("evaluation/success/kind=tower", SHARES),
        ("evaluation/scored/squad", SHARES),
        ("rollout/repetition", SHARES),
        ("kl/reference", (0.0, math.inf)),
        ("evaluation/kl", (0.0, math.inf)),
        ("evaluation/return", EVERYTHING),
        ("evaluation/judge/positive", SHARES),  # as the registered metric declares it, before a run ends
        ("evaluation/sentiment", SHARES),
        ("evaluation/ter", (0.0, math.inf)),
        ("evaluation/ranking/branching", SHARES),
        ("evaluation/mine/sentiment", EVERYTHING),
        ("rollout/sentiment", EVERYTHING),
        ("evaluation/score/token_f1", EVERYTHING),
    ],
)
def test_the_range_of_a_key_by_its_meaning(key, ends):
    assert limits(key, [0.5]) == ends


@pytest.mark.parametrize(
    ("evaluations", "ends"),
    [
        ([recorded(0.0, 1.0)], SHARES),
        ([recorded(0.0, None)], (0.0, math.inf)),
        ([recorded(0.0, 1.0), recorded(-1.0, 0.5)], (-1.0, 1.0)),
        ([recorded(0.0, 1.0), evaluation()], EVERYTHING),  # the second is of an earlier version
        ([recorded(0.0, 1.0), evaluation(key="return")], SHARES),  # the second has no such value
        ([evaluation()], EVERYTHING),
        ([], EVERYTHING),
    ],
)
def test_the_range_that_the_evaluations_recorded(evaluations, ends):
    assert limits("evaluation/score/f1", [0.5], evaluations) == ends
    assert limits("rollout/score/f1", [0.5], evaluations) == EVERYTHING


def test_an_evaluation_without_ranges_has_those_that_the_metrics_declare():
    earlier, now = evaluation(key="ter"), evaluation(key="ter", ranges={})
    assert limits("evaluation/ter", [0.5], [earlier]) == (0.0, math.inf)
    assert limits("evaluation/ter", [0.5], [earlier, now]) == EVERYTHING, "now another metric has the name"
    assert limits("evaluation/kl", [0.5], [evaluation(key="kl", ranges={})]) == (0.0, math.inf)
    assert limits("evaluation/sentiment", [0.5, 1.5]) == EVERYTHING


def test_no_code_that_a_key_names_is_imported_and_a_broken_package_ends_no_report(tmp_path, monkeypatch):
    (tmp_path / "own_boom.py").write_text("raise SystemError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert limits("evaluation/own_boom:Metric", [0.5]) == EVERYTHING
    assert "own_boom" not in sys.modules
    monkeypatch.setitem(registry._names["metric"], "broken", "own_boom:Metric")
    assert limits("evaluation/broken", [0.5]) == EVERYTHING


def test_a_value_outside_shows_another_metric():
    assert limits("evaluation/score/f1", [0.5, 1.5], [recorded(0.0, 1.0)]) == EVERYTHING


def test_an_interval_of_shares_has_no_end_above_1():
    found = interval([0.9, 0.95, 0.995])
    assert found.high > 1
    assert cut(found, SHARES) == type(found)(found.mean, found.low, 1.0, found.deviation, 3)
    assert cut(found, EVERYTHING) == found
    assert cut(interval([0.5]), SHARES) == interval([0.5])


def test_a_row_has_intervals_within_the_range_of_its_columns():
    suite = SimpleNamespace(
        columns={"solved": Column(metric="score/f1"), "points": Column(metric="return")},
        cells={"x": Entry(recipe="r")},
        paper="",
    )
    outcomes = {
        str(seed): Outcome(
            str(seed),
            evaluation={
                "task": "t",
                "n": 9,
                "values": {"score/f1": value, "return": value},
                "ranges": {"score/f1": [0.0, 1.0]},
            },
        )
        for seed, value in enumerate((0.9, 0.95, 0.995))
    }
    whole = row(suite, "x", {seed: str(seed) for seed in range(3)}, outcomes, {})
    found = whole.intervals
    assert whole.ends == {"solved": SHARES, "points": EVERYTHING}
    assert found["solved"].high == 1.0 < found["points"].high
    assert found["solved"].low == found["points"].low
