"""The record of pairs of base model and seed, and the pages that are made from it."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from loquent.bench import exports, jobs, quickstart, results
from loquent.bench import suite as suites
from loquent.bench.evidence.outcome import Outcome
from tools.pages import page as pages
from tools.pages import records
from tools.studies import quickstart_page

PER_WORD = {"five_gram_per_word": 5.02, "model_per_word": 4.44}
SENTIMENT = (0.5, 0.6, 0.7, 0.8, 0.9)  # by method; each pair adds its own part
PARTS = (0.01, -0.02, 0.03, 0.0, 0.04)


@pytest.fixture(scope="module")
def made():
    """The results of five pairs with numbers of our own, as the bench writes them."""
    suite = suites.load("quickstart")
    plan = jobs.plan(suite, Path("out"), "cpu", 5, {})
    outcomes = {}
    for method, (name, keys) in zip(SENTIMENT, plan.cells.items(), strict=True):
        for part, key in zip(PARTS, keys.values(), strict=True):
            values = {column.metric: method + part for column in suite.columns.values()}
            values |= {"sentiment/positive": method + part * (2 if name == "ppo" else 1)}
            values |= {"perplexity": 4.0 + method + part, "diversity/mean_length": 29.5 + part}
            evaluation = {"values": values, "n": 300, "rows": 300, "task": "t-v1", "errors": {}}
            evaluation |= {"decoding": "sampled, temperature 1"}
            outcomes[key] = Outcome(key, evaluation, seconds=60.0, threads=1)
    found = results.collect(suite, "cpu", 5, plan, outcomes)
    machine = {"processes": 2, "threads": [1], "wall_seconds": 1502.0, "peak_gib": 2.09}
    return exports.as_json(replace(found, machine=machine))


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """Copies of the pages by the name of the part, of the results and of the recorded deviations."""
    shutil.copytree(records.RESULTS, tmp_path / "results")
    parts = {
        name: (Path(shutil.copy(page, tmp_path)), text)
        for name, (page, text) in quickstart_page.PARTS.items()
    }
    monkeypatch.setattr(quickstart_page, "PARTS", parts)
    monkeypatch.setattr(quickstart_page, "RESULTS", tmp_path / "results" / "quickstart.jsonl")
    monkeypatch.setattr(records, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(quickstart, "RECORDED", tmp_path / "spread.json")
    records.forget()
    yield [page for page, _ in parts.values()]
    records.forget()


def test_the_pages_show_the_record(made, copies):
    record = quickstart_page.record(made, "abc1234", "alone", PER_WORD)
    before = quickstart_page.RESULTS.read_text().splitlines()
    for _ in range(2):  # a record takes the place of the older one
        quickstart_page.write(record)
    lines = [json.loads(line) for line in quickstart_page.RESULTS.read_text().splitlines()]
    line = lines.pop(quickstart_page.LINE - 1)
    del before[quickstart_page.LINE - 1]
    assert lines == [json.loads(other) for other in before], "no other line changes"
    assert line["command"] == "loquent bench quickstart --seeds 5 --processes 2"
    assert (line["commit"], line["seconds"], line["note"]) == ("abc1234", 1502.0, "alone")
    texts = []
    for path in copies:
        text, wrong = pages.make(path.read_text(), pages.key(path))
        assert wrong == []
        texts.append(text)
    readme, claims = texts
    assert "| zero-shot | 0.512 [" in readme
    assert "25 minutes beside other programs, 2 processes of one thread" in " ".join(readme.split())
    assert "| ppo | 0.720 | 0.048 | [0.579, 0.869] | 4.710 | 0.024 |" in readme
    assert "- PPO increases sentiment (`sentiment`): difference 0.212 [" in claims
    assert "] over seeds; **holds on these rows (p = 0.00016, of 4 tests" in claims
    spread = json.loads(quickstart.RECORDED.read_text())
    deviation = math.sqrt(sum((part - 0.012) ** 2 for part in PARTS) / 4)
    assert spread["pairs"] == 5
    assert spread["deviations"]["zero-shot"] == pytest.approx(deviation)
    assert f"{2 * deviation:.3f} (ppo)" in quickstart.one_run(spread)


def test_one_more_run_lies_within_the_range_of_single_runs():
    """Five values: t of 4 degrees is 2.776, so mean ± 2.776 · 0.1 · sqrt(1.2); shares end at 1."""
    interval = {"n": 5, "mean": 0.8, "deviation": 0.1}
    cell = {"intervals": {"sentiment": interval, "perplexity": {**interval, "deviation": 2.0}},
        "values": {"sentiment": {"0": 0.71}, "perplexity": {"0": 4.0}}}  # fmt: skip
    found = quickstart_page.single(cell, "sentiment")
    assert (found["low"], found["high"]) == (pytest.approx(0.8 - 0.30414, abs=1e-4), 1.0)
    assert found["seed_0"] == 0.71
    assert quickstart_page.single(cell, "perplexity")["low"] == 1.0


def test_the_deviations_that_the_command_prints_are_those_of_the_record():
    lines = quickstart_page.RESULTS.read_text("utf-8").splitlines()[
        quickstart_page.LINE - 1 : quickstart_page.LINE
    ]
    spread = json.loads(quickstart.RECORDED.read_text())
    for line in map(json.loads, lines):
        assert spread["deviations"] == {
            name: own["sentiment"]["deviation"] for name, own in line["one_run"].items()
        }


def test_a_bench_with_failures_is_refused(made, tmp_path):
    (tmp_path / "table.json").write_text(json.dumps(made | {"failures": {"ppo-1": "lost"}}))
    with pytest.raises(SystemExit, match="is no whole bench"):
        quickstart_page.main(tmp_path, "abc1234")
