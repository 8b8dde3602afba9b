"""The study of trained seats: seats that know the world are right, and its record is of this world."""

import json

import pytest

import loquent
from loquent.core.agent import make
from tools.studies import dialogue_seats as study

LINES = [json.loads(line) for line in study.RESULTS.read_text("utf-8").splitlines()]


def test_seats_that_know_the_world():
    task = loquent.task("dialogue", mode="10_stop")
    dialogues = study.played(task, "validation", 3, seed=1)
    assert {len(rounds) for _, rounds in dialogues} == {10}
    right = study.answers(task, make("dialogue/truthful", task), dialogues)
    assert {share["mean"] for share in right.values()} == {1.0}
    captions = [(row.fields, ()) for row in task.rows("validation")[: LINES[0]["validation"]]]
    found = study.percentiles(task, make("dialogue/guesser", task), captions)["0"]
    assert all(found == line["exact judge"]["percentile"]["0"] for line in LINES)


def test_a_mean_is_over_dialogues_that_have_values():
    assert study.mean([[1, 0], [], [1.0], [0.5, 0.5]]) == {
        "mean": pytest.approx(2 / 3, abs=1e-4),
        "error": pytest.approx((1 / 12) ** 0.5 / 3**0.5, abs=1e-4),
    }
