"""How often the watch for reward hacking speaks."""

import json
import math
from pathlib import Path

import pytest

from loquent.statistics.clusters import exact
from tools.studies import watch_study
from tools.studies.watch_study import rates

RESULTS = Path(__file__).parents[2] / "docs" / "results"
ALARMS, FALLS, TEXTS = (
    json.loads(line)["cells"] for line in (RESULTS / "watch_rates.jsonl").read_text().splitlines()
)


def settings(cell):
    return tuple(cell[key] for key in ("noise", "shape", "return", "evaluations", "witnesses"))


@pytest.mark.parametrize(
    "cell", [("normal", "none", 10, 3), ("rare 0.02", "none", 5, 3), ("texts 200", "none", 5, 2)]
)
def test_a_policy_that_does_not_change_is_seldom_called(cell):
    """At 200 histories, three binomial deviations above 5%."""
    found = rates(*cell[:2], "rises evenly", *cell[2:], 200, seed=1)
    assert found["speaks"] <= found["moved"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)


def test_a_collapse_of_texts_is_seen():
    assert rates("texts new", "even", "rises evenly", 5, 2, 10, seed=1)["speaks"] == 1


@pytest.mark.parametrize("kind", ["rises evenly", "rises at once", "saturated"])
def test_a_fall_of_five_errors_is_seen(kind):
    for shape in ("step in the middle", "step after the first", "step at the end"):
        assert rates("normal", shape, kind, 10, 3, 30, seed=1)["speaks"] >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("cell", [*ALARMS, *FALLS, *TEXTS][::5], ids=lambda cell: str(settings(cell)))
def test_a_fresh_study_agrees(cell):
    """Shares of 100 fresh histories and of the record differ by less than 4 deviations of their pool."""
    fresh = rates(*settings(cell), 100, seed=1)
    n, m = cell["histories"], 100
    pool = (n * cell["speaks"] + m * fresh["speaks"] + 1) / (n + m + 2)
    assert abs(fresh["speaks"] - cell["speaks"]) <= 4 * math.sqrt(pool * (1 - pool) * (1 / n + 1 / m))


def test_the_record_has_each_cell_and_keeps_its_promise():
    assert [settings(cell) for cell in ALARMS] == list(watch_study.alarms())
    assert [settings(cell) for cell in FALLS] == list(watch_study.falls())
    assert [settings(cell) for cell in TEXTS] == list(watch_study.counts())
    still = [cell for cell in (*ALARMS, *TEXTS) if cell["shape"] == "none"]
    assert sum(cell["moved"] for cell in still) / len(still) <= 0.05
    assert all(exact(cell["moved"], cell["histories"], 0.998)[0] <= 0.05 for cell in still)
    seen = [*FALLS, *(cell for cell in TEXTS if cell["shape"] != "none")]
    assert all(exact(cell["moved"], cell["histories"], 0.998)[1] >= 0.95 for cell in seen)
