"""Benchmarks as they run: resumed, failing in part, in processes, and written as tables."""

import csv
import json
import os
import re
import shutil
import warnings
from html.parser import HTMLParser
from pathlib import Path

import pytest

from loquent.bench import crew, runner
from loquent.bench.evidence.outcome import Outcome
from loquent.bench.evidence.verdicts import UNDECIDED
from loquent.cli import main as cli
from loquent.core.settings import Remark
from loquent.errors import BadCheckpoint
from loquent.files import names

torch = pytest.importorskip("torch")


def bench(suite, out="out", **options):
    said = []
    found = runner.bench(suite, out, profile="smoke", processes=1, say=said.append, **options)
    return found, said


def test_a_suite_runs_and_goes_on(suite, monkeypatch):
    found, said = bench(suite)
    assert not found.failures
    assert len(said) == 7
    assert "base" in said[0]
    rows = found.rows
    assert {name: row.n for name, row in rows.items()} == {"zero": 2, "ppo": 2, "same": 2, "expert": 2}
    assert rows["ppo"].values == rows["same"].values != rows["zero"].values
    assert rows["zero"].task.startswith("generation-v1#")
    assert rows["zero"].paper["sentiment"].text == "0.489 ± 0.006"
    first, second, third = found.verdicts
    assert (len(third.steps), third.ends.low, third.ends.high, third.verdict) == (
        2,
        "ppo",
        "expert",
        UNDECIDED,
    )
    assert (third.ends.verdict, second.ends) == (third.steps[1].verdict, None), (
        "equal runs differ from a third by the same"
    )
    assert (first.verdict, second.verdict) == (first.steps[0].verdict, UNDECIDED)
    assert second.steps[0].difference.mean == 0.0
    _tables(Path("out"), found)
    _resumed(suite, found, monkeypatch)


def _tables(out, found):
    whole = json.loads((out / "table.json").read_text())
    assert (whole["suite"], whole["version"], whole["profile"], whole["seeds"]) == ("small", 3, "smoke", 2)
    _names_its_origin(whole)
    cell = whole["cells"]["zero"]
    assert cell["intervals"]["words"]["mean"] == pytest.approx(sum(cell["values"]["words"].values()) / 2)
    assert cell["published"]["figures"]["sentiment"] == {
        "text": "0.489 ± 0.006",
        "value": 0.489,
        "deviation": 0.006,
    }
    assert "Table 5" in cell["published"]["where"]
    lines = list(csv.DictReader((out / "table.csv").open()))
    assert [line["cell"] for line in lines[::2]] == ["zero", "ppo", "same", "expert"]
    assert float(lines[0]["mean"]) == pytest.approx(cell["intervals"]["words"]["mean"])
    assert {line["better"] for line in lines if line["column"] == "sentiment"} == {"higher"}
    curves = list(csv.DictReader((out / "curves.csv").open()))
    logs = [[json.loads(line) for line in (out / f"ppo-{seed}" / "metrics.jsonl").open()] for seed in (0, 1)]
    assert [(line["figure"], line["cell"], line["update"], line["n"]) for line in curves] == [
        ("Return <of> two", cell, str(update), "2") for cell in ("ppo", "same") for update in (1, 2)
    ]
    assert [float(line["mean"]) for line in curves[:2]] == pytest.approx(
        [(a["rollout/return"] + b["rollout/return"]) / 2 for a, b in zip(*logs, strict=True)]
    )
    assert whole["curves"]["Return <of> two"]["ppo"][0]["mean"] == pytest.approx(float(curves[0]["mean"]))
    assert whole["curves"]["Nothing"] == {}
    text = (out / "table.md").read_text()
    assert "sentiment ↑" in text
    assert "PPO \\| &lt;b>" in text
    assert '"a <quote>" (here)' in text
    page = (out / "table.html").read_text()
    assert page.count("<figure>") == 1, "a figure without curves is left out"
    assert "Return &lt;of&gt; two" in page
    seen = _Page(page)
    assert seen.unclosed == []
    assert seen.outside == []
    assert "PPO | &lt;b&gt;" in page
    assert "<b>" not in page


def _names_its_origin(whole):
    """The table can be a record of results as it is: it has its command, commit, date and seconds."""
    start, suite, *rest = re.split(r" bench (\S+) ", whole["command"])
    assert (start, Path(suite).name, rest) == ("loquent", "small.yaml", ["--profile smoke --seeds 2"])
    assert whole["commit"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", whole["date"])
    assert whole["seconds"] > 0


class _Page(HTMLParser):
    """Tags that are left open, and everything that would be fetched."""

    def __init__(self, text):
        super().__init__()
        self.unclosed, self.outside = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br", "link", "input"):
            self.unclosed.append(tag)
        self.outside += [
            v for name, v in attributes if (name in ("src", "href") or "//" in (v or "")) and v != "data:,"
        ]

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.unclosed.pop() == tag


def test_the_page_is_read_as_a_browser_would():
    assert _Page("<p><b>x</b>").unclosed == ["p"]
    assert _Page('<p><img src="http://x/y"></p>'.replace("img", "br")).outside == ["http://x/y"]


def _resumed(suite, found, monkeypatch):
    """A second call makes nothing; one whose run was stopped makes that one again, and it is the same."""
    again, said = bench(suite)
    assert all(line.endswith("found") for line in said)
    assert again.rows == found.rows
    cut = Path("out") / "ppo-1"
    (cut / names.SUITE).unlink()
    (cut / "evaluation.json").unlink()
    again, said = bench(suite)
    assert next(line for line in said if not line.endswith("found")).split()[1] == "ppo-1:"
    assert again.rows["ppo"].values == found.rows["ppo"].values
    (cut / names.SUITE).unlink()
    shutil.rmtree(cut / "checkpoints")
    (cut / "evaluation.json").unlink()
    again, _ = bench(suite)
    assert again.rows["ppo"].values == found.rows["ppo"].values
    with pytest.raises(BadCheckpoint, match=r"ppo-0 holds a run of other settings"):
        bench(suite, overrides=["ppo:algorithm.clip=0.3", "same:algorithm.clip=0.3"])


def test_a_run_that_fails_is_in_the_table_and_ends_no_other(suite, capsys):
    suite.write_text(
        suite.read_text().replace('label: "PPO | <b>", set: {', "label: PPO, set: {model.critic: none, ")
    )
    line = [
        "bench",
        "small.yaml",
        "--profile",
        "smoke",
        "--processes",
        "1",
        "--seeds",
        "1",
        "--out",
        "out",
        "--json",
    ]
    assert cli.main([*line, "base:algorithm.learning_rate=nan"]) == 2, (
        "a setting that no recipe takes ends it at once"
    )
    assert cli.main(line) == 1
    said = capsys.readouterr()
    found = json.loads(said.out.splitlines()[-1])
    assert list(found["failures"]) == ["ppo-0"]
    assert "value function" in found["failures"]["ppo-0"]
    assert (found["cells"]["ppo"]["n"], found["cells"]["same"]["n"]) == (0, 1)
    assert "0 of 1, failed" in said.out
    assert "value function" in (Path("out") / "ppo-0" / "failure.txt").read_text()
    assert "value function" in (Path("out") / "table.html").read_text()


def test_what_starts_from_a_failed_run_is_not_made(suite):
    suite.write_text(
        suite.read_text().replace(
            "base: {recipe: reviews_base}",
            "base: {recipe: reviews_base, set: {training.final_split: nowhere}}",
        )
    )
    found, _ = bench(suite, seeds=1)
    assert set(found.failures) == {"base", "zero-0", "ppo-0"}
    assert found.failures["zero-0"].startswith("not made: a job that it needs failed (")
    assert found.rows["expert"].n == 1


class _Dies:
    """An agent in whose hands a process dies."""

    name = "dies"

    def __init__(self, task):
        self.task = task

    def answer(self, asked):
        warnings.warn("its hands tremble", Remark, stacklevel=1)
        os._exit(3)


def test_processes_make_the_same_runs_and_one_that_dies_takes_one_run_with_it(suite, capfd):
    alone, _ = bench(suite, "alone", seeds=1)
    suite.write_text(suite.read_text().replace("agent: expert", f"agent: {__name__}:_Dies"))
    found = runner.bench(suite, "many", profile="smoke", processes=2, seeds=1, say=lambda line: None)
    assert found.failures == {"expert-0": "its process ended with exit code 3"}
    assert found.machine["processes"] == 2
    assert "Remark: its hands tremble" in capfd.readouterr().err.splitlines()
    for name in ("zero", "ppo"):
        assert found.rows[name].values == alone.rows[name].values


def test_cores_are_counted_as_far_as_memory_allows(monkeypatch):
    assert crew.cores(3) == 3
    monkeypatch.setattr(crew, "_available_cores", lambda: 8)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for free, expected in ((None, 8), (100 << 30, 8), (5 << 30, 3), (1 << 30, 1)):
        monkeypatch.setattr(crew.memory, "available", lambda free=free: free)
        assert crew.cores() == expected
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert crew.cores() == 1


def test_a_run_has_the_threads_of_finished_runs_or_the_number_that_is_asked_for(monkeypatch):
    monkeypatch.setattr(crew, "_available_cores", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    ended = [Outcome("a", threads=3)]
    assert [crew.threads(2), crew.threads(2, each=1), crew.threads(2, ended, 1)] == [4, 1, 3]


def test_suites_are_listed(capsys):
    assert cli.main(["list", "suites"]) == 0
    said = capsys.readouterr().out
    assert "imdb-ablations" in said
    assert "quickstart" in said
