"""The search for settings of the suite grue: equal trials for each method, its record, and the suite."""

import json

import pytest

from loquent.bench import suite as suites
from loquent.bench.search import space
from loquent.training import recipes
from tools.pages import tables, templates
from tools.studies import grue_search, grue_tables

TUNING = {
    **{"trials": 4, "updates": 80, "episodes": 7680, "seconds": 99.5},
    **{"metric": "return", "split": "validation", "rows": 300},
}
BEST = {"trial": 1, "settings": {"algorithm.learning_rate": 4e-4, "algorithm.beta": 0.05}, "values": [0.8]}


@pytest.mark.parametrize("method", grue_search.SPACES)
def test_each_method_of_each_task_has_four_trials(method):
    for task in grue_search.TASKS:
        recipe = recipes.load(f"grue_{task}_{method.replace('-', '_')}", profile="cpu")
        assert space.size(space.settle(space.split(grue_search.SPACES[method])[0], recipe)) == 4


def test_a_task_is_recorded_when_all_its_methods_have_been_searched():
    found = dict.fromkeys(grue_search.cells())
    assert list(grue_search.whole(found)) == grue_search.cells()
    del found["imdb-nlpo"]
    assert {cell.partition("-")[0] for cell in grue_search.whole(found)} == {*grue_search.TASKS} - {"imdb"}


def test_the_suite_reads_what_the_record_says(tmp_path):
    """As it is in the repository, and for a record with a search."""
    record = {"cells": {"imdb-ppo": {"recipe": "grue_imdb_ppo", "best": BEST, "tuning": TUNING}}}
    text, kept = grue_search.SUITE.read_text(), "\n".join(grue_search.in_suite())
    expected = {"cells": {}}
    if grue_search.RECORD.is_file():
        expected = json.loads(grue_search.RECORD.read_text())
    assert grue_search.in_suite() == list(grue_search.block(expected))
    file = tmp_path / "grue.yaml"
    file.write_text(text.replace(kept, "\n".join(grue_search.block(record))))
    suite = suites.load(file)
    [(name, search)] = suite.profiles["cpu"].search.items()
    assert (name, vars(search.tuning)) == ("grue_imdb_ppo", TUNING)
    assert suite.settings("imdb-ppo", "cpu")["algorithm.beta"].value == 0.05


def made():
    """A part of table.json: one task with one seed and one with three."""

    def cell(values):
        return {
            "values": {"reward": values, "kl": {}},
            "errors": {"reward": dict.fromkeys(values, 0.01)},
            "intervals": {"reward": {"low": 0.4, "high": 0.75}},
            **{"seconds": 9.0, "care": {"tuning": None}},
        }

    one, three = cell({"0": 0.5}), cell({"0": 0.5, "1": 0.6, "2": 0.61})
    names = {task: [f"{task}-{method}" for method in grue_tables.METHODS] for task in ("a", "b")}
    task = {"task": "A", "outcome": "win", "error": None, "paper": None, "difference": None}
    return {
        "tables": [{"title": title.upper(), "cells": cells} for title, cells in names.items()],
        "cells": {name: one if name[0] == "a" else three for own in names.values() for name in own},
        "tallies": [{"claim": "c", "tasks": [task]}],
        "stopping": {"a-0": {"kept": 50, "last": 100, "course": [[50, 0.7], [100, 0.6]]}},
    }


def test_the_record_has_what_stands_beside_a_mean_on_the_page(tmp_path, capsys):
    (tmp_path / "table.json").write_text(json.dumps(made()))
    grue_tables.main(tmp_path, "abc", "12")
    line = json.loads(capsys.readouterr().out)
    assert line["cells"]["B"]["ppo"] | {"low": 0, "high": 0} == {
        **{"reward": pytest.approx(0.57), "n": 3, "low": 0, "high": 0, "seconds": 9.0},
        **{"values": {"reward": pytest.approx(0.57)}, "care": {"tuning": None}},
    }
    interval = "(? [{*.low:.3f}, {*.high:.3f}]?)"  # for the page, once a record has several seeds
    form = f"{tables.specifications('grue')['rewards'].form}{interval}".replace("*", "ppo")
    shown = [templates.fill(form, line["cells"][task]) for task in "AB"]
    assert shown == ["0.500 ± 0.010", "0.570 [0.400, 0.750]"]
    assert line["claims"]["c"]["won"] == "A"
    assert line["stopped"]["a-0"] == {"kept": 50, "value": 0.7, "last": 100, "last_value": 0.6}
