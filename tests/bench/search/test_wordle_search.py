"""The search for the rates of the suite ilql-wordle: equal trials for each learning cell, and its record."""

import json

from loquent.bench import suite as suites
from tools.studies import wordle_search

SMALL = (
    *("task.limit=20", "training.updates=1", "training.episodes=64", "training.final_episodes=20"),
    *("training.evaluate_every=0", "algorithm.total_steps=2"),
    *("algorithm.warmup=0", "clone:model.vocabulary=300"),
    *("games-*:episodes=40", "branching:episodes=2", "adversarial:episodes=2"),
)


def test_values_start_from_the_clone_with_its_best_rate(tmp_path, monkeypatch):
    monkeypatch.setattr(wordle_search, "SPACE", ("algorithm.learning_rate=5e-4,1e-3",))
    clone = wordle_search.search_cell("clone", tmp_path, {}, SMALL)
    ilql = wordle_search.search_cell("ilql", tmp_path, {"clone": clone}, SMALL)
    assert len(clone.rungs[0]) == len(ilql.rungs[0]) == 2
    assert {clone.tuning.split, ilql.tuning.split} == {"validation"}
    best = wordle_search.best_settings(clone)["algorithm.learning_rate"]
    start = (tmp_path / "starts" / "clone-0" / "config.yaml").read_text()
    assert f"learning_rate: {best}" in start
    assert ilql.recipe.model.path.endswith("clone-0")
    record = wordle_search.line({"clone": clone})
    assert f"learning_rate: {best}" in list(wordle_search.block(record))[2]


def test_the_suite_reads_what_the_record_says():
    suite, kept = suites.load("ilql-wordle"), wordle_search.RECORD
    expected = json.loads(kept.read_text()) if kept.is_file() else {"cells": {}}
    assert wordle_search.in_suite() == list(wordle_search.block(expected))
    assert list(suite.profiles["cpu"].search) == list(expected["cells"])
