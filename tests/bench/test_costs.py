"""What a suite would cost, before its sets of episodes are collected; and the study that makes the record."""

from pathlib import Path

import pytest

from loquent.bench import collecting
from loquent.bench.costs import GAMES
from tools.studies import suite_costs

SUITE = """
columns: {success: {metric: success, better: higher}}
profiles: {small: {seeds: 2, set: {any: {
  task.limit: 20, model.layers: 1, model.width: 16, model.heads: 2, training.episodes: 8, training.updates: 3,
  training.final_episodes: 4, training.update_share: 0.5}}}}
data: {games: {agent: wordle/random, episodes: 1000000}}
cells:
  before: {recipe: wordle_bc, set: {training.data: [<games>], training.updates: 0}}
  clone: {recipe: wordle_bc, set: {training.data: [<games>]}}
  best: {recipe: wordle_bc, set: {training.data: [<games>], training.data_top: 0.5}}
  random: {recipe: wordle_bc, agent: wordle/random}
  given: {recipe: comments_ilql, set: {model.path: nowhere, training.data: [replies]}}
"""


def test_a_profile_s_cost_is_that_of_one_cell_of_each_recipe_without_its_sets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    played, plan = [], collecting.plan
    monkeypatch.setattr(
        collecting, "plan", lambda job, task: played.append(job.data.episodes) or plan(job, task)
    )
    Path("own.yaml").write_text(SUITE)
    seen, costs = [], suite_costs.costs
    monkeypatch.setattr(
        suite_costs, "costs", lambda *args, **own: seen.append(costs(*args, **own)) or seen[0]
    )
    found = suite_costs.cost("own.yaml", "small")
    one = next(each for each in seen[0].entries if each.name in ("clone", "best"))
    assert found["hours"] == pytest.approx((4 + 2 / 16) * one.seconds / one.runs / 3600), "by episodes"
    assert (found["runs"], found["updates"], found["missing"]) == (8, 6 * 2, [])
    assert found["hours"] > 0 < found["peak_gib"]
    assert "nowhere" in found["unknown"].pop("comments_ilql")
    assert (found["unknown"], played) == ({}, [GAMES])
    assert [path.name for path in tmp_path.iterdir()] == ["own.yaml"]
