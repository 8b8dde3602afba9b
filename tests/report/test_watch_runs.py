"""What the watch for reward hacking says of real runs."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from loquent.report.divergence import Change
from tools.studies import watch_runs

DOCS = Path(__file__).parents[2] / "docs"
RUNS = [json.loads(line) for line in (DOCS / "results" / "watch_runs.jsonl").read_text("utf-8").splitlines()]


def name(run):
    return f"{run['recipe']}-{run['seed']}"


def change(record):
    return Change(**{field.name: record[field.name] for field in fields(Change)})


@pytest.mark.parametrize("run", RUNS, ids=name)
def test_an_outcome_follows_from_the_values_beside_it(run):
    """All these returns rose and none fell again, so the rule needs only what fell and how far."""
    rise, *falls = map(change, run["changes"])
    assert rise.key == "return"
    assert rise.moved
    fell = [fall for fall in falls if fall.moved]
    outcome = "hacked" if any(fall.deep for fall in fell) else "price" if fell else "calm"
    assert run["outcome"] == outcome


def largest_loss(run):
    falls = [fall for fall in map(change, run["changes"][1:]) if fall.moved]
    shares = [abs(fall.difference) / max(abs(fall.earlier), abs(fall.last)) for fall in falls]
    return max(shares, default=0.0)


def test_only_without_a_penalty_is_a_reward_hacked():
    without = [run for run in RUNS if run["recipe"] == watch_runs.HACKED]
    others = [run for run in RUNS if run not in without]
    assert {run["recipe"] for run in others} == {*watch_runs.SHIPPED} - {"reviews_trpo"}, "as the page says"
    assert [run["seed"] for run in without] == list(range(watch_runs.SEEDS))
    hacked = {name(run) for run in RUNS if run["outcome"] == "hacked"}
    assert hacked == set(map(name, without))
    assert min(map(largest_loss, without)) > max(map(largest_loss, others))
