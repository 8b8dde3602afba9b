"""README's table of the quickstart: made from the record of pairs of base model and seed."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import docs_figures
from loquent.bench import exports, jobs, quickstart, results
from loquent.bench import suite as suites
from loquent.bench.evidence.outcome import Outcome
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
def pages(tmp_path, monkeypatch):
    """Copies of the pages, of the results and of the recorded deviations."""
    shutil.copytree(docs_figures.RESULTS, tmp_path / "results")
    copies = {name: Path(shutil.copy(page, tmp_path)) for name, page in quickstart_page.PAGES.items()}
    monkeypatch.setattr(quickstart_page, "PAGES", copies)
    monkeypatch.setattr(quickstart_page, "RESULTS", tmp_path / "results" / "quickstart.jsonl")
    monkeypatch.setattr(docs_figures, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(quickstart, "RECORDED", tmp_path / "spread.json")
    return copies


def test_the_pages_show_the_record(made, pages):
    record = quickstart_page.record(made, "abc1234", "alone", PER_WORD)
    for _ in range(2):  # a record of the same command replaces the older one
        quickstart_page.write(record)
    lines = [json.loads(line) for line in quickstart_page.RESULTS.read_text().splitlines()]
    assert [line["command"] for line in lines].count("loquent bench quickstart --seeds 5 --processes 2") == 1
    assert (lines[-1]["commit"], lines[-1]["seconds"], lines[-1]["note"]) == ("abc1234", 1502.0, "alone")
    readme, claims = (page.read_text() for page in pages.values())
    for page in (readme, claims):
        assert docs_figures.faults(page) == []
        assert docs_figures.faults(page.replace("0.512", "0.722").replace("difference 0.2", "difference 0.3"))
    assert "| zero-shot  | 0.512 [" in readme
    assert "25 minutes, 2 processes of one thread, at most 2.1 GiB" in " ".join(readme.split())
    assert "makes one such pair, that of seed 0, in about 5 minutes" in readme
    assert (
        "- PPO increases sentiment (`sentiment`): difference 0.212 ± 0.024; **holds** (p 0.00018 and"
        in claims
    )
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


def test_what_stands_on_the_pages_is_made_from_the_newest_record():
    lines = [json.loads(line) for line in docs_figures.RESULTS.joinpath("quickstart.jsonl").open()]
    spread = json.loads(quickstart.RECORDED.read_text())
    for number, line in enumerate(lines, 1):
        if "one_run" in line:
            for (name, page), part in zip(quickstart_page.PAGES.items(), (quickstart_page.table,
                quickstart_page.claims), strict=True):  # fmt: skip
                text = part(line, number)
                assert f"<!-- {name}: begin -->\n{text}\n<!-- {name}: end -->" in page.read_text("utf-8")
            assert spread["deviations"] == {
                name: own["sentiment"]["deviation"] for name, own in line["one_run"].items()
            }


def test_a_bench_with_failures_is_refused(made, tmp_path):
    (tmp_path / "table.json").write_text(json.dumps(made | {"failures": {"ppo-1": "lost"}}))
    with pytest.raises(SystemExit, match="is no whole bench"):
        quickstart_page.main(tmp_path, "abc1234")
