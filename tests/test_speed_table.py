"""A figure of docs/speed.md that is older than what it measures is marked."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "perf"))

import table  # noqa: E402 - perf is no package


def test_figures_older_than_the_files_that_they_measure_are_marked():
    if not table.has_history():
        pytest.skip("no checkout with its complete history, so the age of figures is not known")
    text = table.TABLES.read_text(encoding="utf-8")
    marked, new = (
        {name for _, marks in table.OLDER.findall(tables) for name in re.findall(r"[\w-]+", marks)}
        for tables in (text, table.marked(text))
    )
    assert new <= marked, "measure again, or run `python perf/table.py`, which marks the figures"


def test_every_benchmark_says_what_it_measures():
    for name in table.records():
        assert all((HERE / path).exists() for path in table.paths(name)), name


def test_a_changed_reference_makes_the_figure_old(tmp_path, monkeypatch):
    """Before the change is committed, and after; another benchmark's figure stays."""
    shutil.copytree(HERE / "perf", tmp_path / "perf", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(table, "ROOT", tmp_path)
    marks = ["-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]

    def git(*arguments):
        command = ["git", *marks, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    def older():
        return [name for name in ("ilql-training", "wordle-act") if table.is_older(name, commit)]

    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "measured")
    commit = git("rev-parse", "--short", "HEAD")
    assert older() == []
    reference = tmp_path / "perf" / "references" / "plain_ilql.py"
    reference.write_text(reference.read_text() + "\n")
    assert older() == ["ilql-training"]
    git("commit", "-qam", "changed")
    assert older() == ["ilql-training"]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("dropout-tiny", {"perf/version_work.py", "perf/workloads.py", "src/loquent/pretrained/networks.py"}),
        ("blocks-scatter-vector", {"perf/references/redrawn_blocks.py", "src/loquent/adapters"}),
        (
            "ppo-trl",
            {"perf/references/trl_ppo.py", "src/loquent/core/rollout", "src/loquent/models/actor.py"},
        ),
        ("wordle-act", {"perf/wordle.py", "perf/references/letter_flags.py"}),
        ("metric-rouge", {"perf/metrics.py", "perf/references/metric_loops.py"}),
    ],
)
def test_a_figure_depends_on_its_benchmark_and_reference(name, wanted):
    assert wanted <= set(table.paths(name))


def test_a_figure_of_an_unknown_commit_is_old(monkeypatch):
    monkeypatch.setattr(table, "_git", lambda *given: None)
    assert not table.has_history()
    row = '    decode-equal: {at: "[printed.name=decode-equal, commit=COMMIT]"}\n'
    text = f'a:\n  marks: {{", older": []}}\n  rows:\n{row}\nb:\n  marks: {{", older": []}}\n  rows: {{}}\n'
    new = text.replace("COMMIT", table.records()["decode-equal"]["commit"])
    assert table.marked(text) == new.replace("[]", "[decode-equal]", 1)
