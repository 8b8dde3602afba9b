"""The study of docs/learners.md: its results keep what specification E9 asks; a part of it is repeated."""

import math

import pytest

from tools.studies import learning_study as study
from tools.studies.learning_page import drawing, learners

RECORDS = {(record["shape"], record["task"]): record for record in study.records()}


@pytest.mark.parametrize("task", study.TASKS)
@pytest.mark.parametrize("shape", study.SHAPES)
def test_every_learner_gains_three_standard_errors_with_every_seed(shape, task):
    record = RECORDS[shape, task]
    assert set(learners(record)) == set(study.LEARNERS)
    start = record["learners"]["start"]
    for name, found in learners(record).items():
        assert len(found["runs"]) == len(study.SEEDS)
        gains = [
            (run["reward"] - start["reward"]) / math.hypot(run["error"], start["error"])
            for run in found["runs"]
        ]
        assert sum(gain > 3 for gain in gains) == 3, name
        if name in ("ppo", "nlpo", "a2c"):
            assert found["reward"] - start["reward"] > 0.3
            assert found["kl"] < 2 * study.TARGET


@pytest.mark.parametrize("key", RECORDS)
def test_the_page_has_the_drawing_of_the_results(key):
    record = RECORDS[key]
    file = study.DOCS / "results" / f"learning-{key[0]}-{key[1]}.svg"
    assert file.read_text(encoding="utf-8") == drawing(key[1], learners(record))


@pytest.mark.slow
@pytest.mark.parametrize("shape", study.SHAPES)
def test_the_study_of_dates_is_repeated_with_one_seed(shape):
    found = dict(study.study(shape, "dates", list(study.LEARNERS), seeds=(0,)))
    start = found.pop("start")
    assert set(found) == set(study.LEARNERS)
    for name, summary in found.items():
        (run,) = summary["runs"]
        assert run["reward"] - start["reward"] > 3 * math.hypot(run["error"], start["error"]), name
