"""`loquent bench SUITE --power`: the seeds that a wanted difference takes."""

import json

import pytest

from loquent.bench import runner
from loquent.bench import suite as suites
from loquent.bench.evidence import planning
from loquent.cli import main as cli
from loquent.errors import BadSetting, UnknownName

TITLE = "Table 1: multi-label classification"
ERRORS = {"seeds": 0.1 * (2 / 3) ** 0.5, "runs": 3, "rows": 0.0, "rest": 0.0, "played": 0, "samples": 2}


def recorded(seen, column="f1"):
    """A table of earlier runs."""
    return {"suite": "nlpgym", "tables": [{"title": TITLE, "smallest_difference": {column: seen}}]}


def folder(path, **seen):
    """A folder with a table of earlier runs."""
    own = recorded({"difference": 0.5, "deviation": 0.1, "n": 3} | seen, "micro_f1")
    (path / "table.json").write_text(json.dumps(own))
    return path


def test_the_seeds_of_a_difference_by_table(tmp_path):
    """The labels have 5 tests, so the level is 0.05 / 5; two tests need 22 seeds for one deviation."""
    plans = planning.plan(suites.load("nlpgym"), folder(tmp_path), ["micro_f1=0.1"])
    table = plans[TITLE]
    assert (table["tests"], table["deviations"]) == (5, {"micro_f1": pytest.approx(0.1)})
    assert table["seeds"]["1.0"] == 27
    assert table["wanted"] == {"micro_f1": {"difference": 0.1, "seeds": 27, "rows": 0}}
    assert plans["Table 1: question answering"]["tests"] == 2
    assert plans["Table 1: question answering"]["seeds"]["1.0"] == 22
    assert plans["Table 1: question answering"]["deviations"] == {}


def test_the_rows_of_earlier_runs_count(tmp_path):
    """Rows leave an error of 0.02 whatever the seeds: 0.1 takes more of them, and 0.05 is never seen."""
    folder(tmp_path, errors=ERRORS | {"rows": 0.02, "played": 500})
    plans = planning.plan(suites.load("nlpgym"), tmp_path, ["micro_f1=0.1"])
    wanted = plans[TITLE]["wanted"]["micro_f1"]
    assert 30 < wanted["seeds"] < 100
    assert plans[TITLE]["with_rows"]["micro_f1"]["1.0"] == wanted["seeds"]
    assert plans[TITLE]["with_rows"]["micro_f1"]["0.5"] is None
    text = planning.markdown(suites.load("nlpgym"), plans)
    assert f"takes {wanted['seeds']} seeds of each cell on 500 rows." in text
    assert "| seeds for micro_f1, rows vary |" in " ".join(text.split())


def test_the_command_runs_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(runner, "bench", None)  # a call would raise, not train for an hour
    monkeypatch.chdir(tmp_path)
    assert cli.main(["bench", "nlpgym", "--power"]) == 0
    printed = capsys.readouterr().out
    assert "## Table 1: question answering: 2 tests\n" in printed
    assert list(tmp_path.iterdir()) == []
    folder(tmp_path)
    assert cli.main(["bench", "nlpgym", "--power", "--out", ".", "--difference", "micro_f1=0.1"]) == 0
    assert (
        "micro_f1: a difference of 0.1 takes 27 seeds of each cell, on these rows." in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("wanted", "error", "message"),
    [
        ("micro_f1", BadSetting, "must be COLUMN=NUMBER"),
        ("micro_f1=-1", BadSetting, "above 0"),
        ("f1=0.1", UnknownName, "no column of nlpgym is named 'f1'"),
        ("accuracy=0.1", BadSetting, "show how much accuracy varies"),
    ],
)
def test_a_difference_that_cannot_be_planned_is_refused(tmp_path, wanted, error, message):
    with pytest.raises(error, match=message):
        planning.plan(suites.load("nlpgym"), folder(tmp_path), [wanted])


@pytest.mark.parametrize(
    "unread", [["--profile", "smoke"], ["--only", "tagging-ppo"], ["--seeds", "2"], ["task.limit=3"]]
)
def test_arguments_that_a_plan_does_not_read_are_refused(unread, capsys):
    assert cli.main(["bench", "nlpgym", "--power", *unread]) == 2
    assert "--power reads no" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"suite": "grue", "tables": []}, "is a table of suite 'grue', not of nlpgym"),
        ({"suite": "nlpgym"}, "lacks the field 'tables'"),
        ({"suite": "nlpgym", "tables": [3]}, r"tables\[0\] must be an object \{...\}, got 3"),
        (recorded({"deviation": "x", "n": 3}), "f1.deviation must be a finite number, got 'x'"),
        (recorded({"deviation": 0.1, "n": 3, "errors": ERRORS | {"runs": 1}}), "runs = 1"),
        (recorded({"deviation": 0.1, "n": 3, "errors": ERRORS | {"rows": 1.0}}), "at least 2 rows"),
    ],
)
def test_a_file_that_is_no_table_of_the_suite_is_refused(tmp_path, table, message):
    (tmp_path / "table.json").write_text(json.dumps(table))
    with pytest.raises(BadSetting, match=message):
        planning.plan(suites.load("nlpgym"), tmp_path)


@pytest.mark.parametrize("seen", [{"deviation": 0.0}, {"deviation": 0.1, "n": 1}])
def test_no_spread_and_one_seed_show_no_deviation(tmp_path, seen):
    with pytest.raises(BadSetting, match=r"above 0|show how much micro_f1 varies"):
        planning.plan(suites.load("nlpgym"), folder(tmp_path, **seen), ["micro_f1=1e-12"])


def test_a_difference_without_power_is_refused(capsys):
    assert cli.main(["bench", "nlpgym", "--difference", "micro_f1=0.1"]) == 2
    assert "add --power" in capsys.readouterr().err
