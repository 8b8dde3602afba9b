"""`loquent annotate` on what people type and on files of samples, good and bad; input from a pipe, everything else as a user has it."""

import io
import json
import re
import sys

import pytest

from loquent import cli
from loquent.fill import dump

pytest.importorskip("stable_baselines3")

TASKS = {
    "tagging": {"labels": ["other", "vowel"]},
    "multilabel": {"labels": ["corn", "wheat"], "max_steps": 3},
    "multiple_choice": {},
}


@pytest.fixture
def annotate(tmp_path, monkeypatch, capsys):
    """A function that writes samples and runs the command on them with what is typed; returns the exit code, what was shown, and the errors."""
    monkeypatch.chdir(tmp_path)
    small = {"games": 2, "rollout": 4, "steps": 8, "minibatch": 4, "network": [8]}
    algorithm = {"kind": "sb3/ppo", "features": {"kind": "hashed", "dimension": 16}, **small}

    def run(kind, samples, typed, *more, **options):
        task = {"kind": kind, "source": "samples", "instruct": False, **TASKS[kind], **options}
        (tmp_path / "mine.yaml").write_text(dump({"task": task, "algorithm": algorithm, "training": {"updates": 3}}))
        (tmp_path / "samples.jsonl").write_text("".join(json.dumps(sample) + "\n" for sample in samples))
        given = typed if isinstance(typed, bytes) else typed.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        code = cli.main(["annotate", "mine.yaml", "--samples", "samples.jsonl", "--out", "session", *more])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def kept(folder):
    """What was given, by id."""
    lines = [json.loads(line) for line in (folder / "session" / "annotations.jsonl").read_text().splitlines()]
    return {line["id"]: line["given"] for line in lines}


def test_labels_that_were_all_taken_away_stay_away(annotate, tmp_path):
    texts = [{"id": "s1", "text": "a text about corn"}]
    _, shown, _ = annotate("multilabel", texts, "q\n")
    suggested = re.search(r"labels: (.*)", shown)[1].split(", ")
    assert suggested != ["(none)"]  # else this test tells nothing
    _, shown, _ = annotate("multilabel", texts, "".join(f"-{label}\n" for label in suggested) + "q\n")
    assert "labels: (none)" in shown
    _, shown, _ = annotate("multilabel", texts, "\n")
    assert kept(tmp_path) == {"s1": []}
