"""The study of the spread of PPO: its statistics by hand, and each line of results from the runs in it."""

import json
import math

import numpy as np
import pytest

from tools.studies import wander_study as study

LINES = [json.loads(line) for line in study.RESULTS.read_text("utf-8").splitlines()]


def test_the_interval_of_a_deviation_is_that_of_chi_square():
    found = study.spread([1.0, 2.0, 3.0])
    # two degrees of freedom: the quantile of p is -2 log(1 - p), and the sum of squares is 2
    assert found["deviation"] == 1.0
    assert found["low"] == pytest.approx(math.sqrt(2 / (-2 * math.log(0.05))))
    assert found["high"] == pytest.approx(math.sqrt(2 / (-2 * math.log(0.95))))


def test_the_parts_of_a_spread_are_those_that_the_values_were_made_of():
    generator = np.random.default_rng(0)
    bases, rows = 4000, 20
    values = (
        0.3 * generator.normal(size=(bases, 1, 1))
        + 0.2 * generator.normal(size=(bases, 2, 1))
        + generator.normal(size=rows)
        + 0.5 * generator.normal(size=(bases, 2, rows))
    )
    found = study.components(values)
    assert found == {
        "base": pytest.approx(0.3, rel=0.05),
        "seed": pytest.approx(0.2, rel=0.05),
        "evaluation": pytest.approx(0.5 / math.sqrt(rows), rel=0.02),
    }
    assert study.components(np.broadcast_to(np.arange(5.0), (3, 2, 5))) == dict.fromkeys(found, 0.0)


def test_the_answers_to_a_row_are_one_value():
    assert study.by_row([1.0, 2.0, 3.0, 5.0], 2) == [2.0, 3.5]
    assert study.by_row([1.0, 2.0, 3.0], 3) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["variant"])
def test_a_line_of_results_is_the_summary_of_its_runs(line):
    assert line["sentiment"] == pytest.approx(np.mean(line["sentiments"]))
    assert {name: line[name] for name in ("deviation", "low", "high")} == pytest.approx(
        study.spread(line["sentiments"])
    )
    recipe, changes, numbers = study.VARIANTS[line["variant"]]
    assert (line["recipe"], line["set"]) == (recipe, [*changes])
    assert len(line["sentiments"]) == len(line["perplexities"]) == len(numbers)
