"""Where early stopping ended the runs of a suite, and which checkpoint they kept."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from loquent.bench import runner
from loquent.bench.evidence import stopping
from loquent.files.run_folder import RunFolder
from loquent.training.recipes.sections import TrainingSettings

EVALUATION = {"checkpoint": "update-40"}


def folder(tmp_path, lines):
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return RunFolder(tmp_path)


def recipe(updates=200, metric="perplexity", **more):
    return SimpleNamespace(training=TrainingSettings(stop_metric=metric, updates=updates, **more))


def lines(last=80):
    found = [
        {"update": update, "learning_rate": 1 - update / 100, "episodes": 5 * update}
        for update in range(1, last + 1)
    ]
    for update, value in ((20, 9.0), (40, 7.0), (60, 7.5), (80, 8.0)):
        found[update - 1]["evaluation/perplexity"] = value
    return found


def test_a_run_that_the_rule_ended(tmp_path):
    found = stopping.read(folder(tmp_path, lines()), recipe(), EVALUATION)
    assert (found.kept, found.last, found.early) == (40, 80, True)
    assert found.course == ((20, 9.0), (40, 7.0), (60, 7.5), (80, 8.0))
    assert found.rate == pytest.approx(0.2 / 0.99)
    assert found.cells("x") == [
        "x",
        "perplexity",
        "40",
        "7.000",
        "80",
        "8.000",
        "the rule",
        "20% of its largest",
    ]
    assert found.as_json()["early"] is True


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        ({"updates": 80}, "training.updates = 80"),
        ({"most_episodes": 400}, "training.most_episodes = 400"),
        ({"most_episodes": 401}, "the rule"),
        ({"updates": 160, "update_share": 0.5}, "training.updates = 80"),
    ],
)
def test_a_run_that_a_limit_ended(tmp_path, settings, limit):
    found = stopping.read(folder(tmp_path, lines()), recipe(**settings), EVALUATION)
    assert found.cells("x")[6] == limit
    assert found.early == found.as_json()["early"] == (limit == "the rule")


def test_a_run_without_early_stopping_or_without_a_log_has_none(tmp_path):
    assert stopping.read(folder(tmp_path, lines()), recipe(metric=""), EVALUATION) is None
    assert stopping.read(folder(tmp_path, lines()), recipe(), {}) is None
    assert stopping.read(folder(tmp_path, []), recipe(), EVALUATION) is None
    assert stopping.read(RunFolder(tmp_path / "none"), recipe(), EVALUATION) is None
    (tmp_path / "metrics.jsonl").write_text('{"update": 1, "x\n{"update": 2}\n')
    assert stopping.read(RunFolder(tmp_path), recipe(), EVALUATION) is None


def test_a_suite_says_where_its_runs_stopped(suite):
    settings = ["updates=4", "evaluate_every=1", "patience=1", "stop_metric=perplexity", "margin=0.9"]
    options = {
        "profile": "smoke",
        "seeds": 1,
        "only": ["zero"],
        "processes": 1,
        "overrides": [*(f"base:training.{setting}" for setting in settings), "base:metrics.perplexity={}"],
    }
    found = runner.bench(suite, "out", say=lambda text: None, **options)
    assert not found.failures
    [(run, stopped)] = found.stopped.items()
    assert (stopped.metric, stopped.limit, stopped.early) == ("perplexity", "", True)
    assert stopped.last < 4
    assert [update for update, _ in stopped.course] == list(range(1, stopped.last + 1))
    out = Path("out")
    log = [json.loads(line) for line in (out / run / "metrics.jsonl").read_text().splitlines()]
    assert [value for _, value in stopped.course] == [line["evaluation/perplexity"] for line in log]
    checkpoint = json.loads((out / run / "evaluation.json").read_text())["checkpoint"]
    assert checkpoint == f"update-{stopped.kept}"
    assert json.loads((out / "table.json").read_text())["stopping"][run]["kept"] == stopped.kept
    for page in ("table.md", "table.html"):
        assert "Where training stopped" in (out / page).read_text()
    again = runner.bench(suite, "out", say=lambda text: None, **options)
    assert again.stopped == found.stopped
