"""The study of learners in plain torch: a tiny run of each learns, and lines name what they are of."""

import json
from pathlib import Path

import pytest

from tools.studies.decisions_study import LEARNERS, Settings, run

LINES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "docs/results/decisions.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_tiny_run_learns(learner):
    """Four questions whose right choice alone shares words with the facts."""
    samples = [
        {"question": "?", "facts": [f"it is {word}"], "choices": ["moon", "so", f"{word}"], "answer": "C"}
        for word in ("red", "green", "blue")
    ]
    samples += [{**samples[0], "choices": ["red", "moon", "so"], "answer": "A"}]
    samples = [{**row, "split": split} for row in samples for split in ("train", "validation")]
    own = {"rate": 0.02, "explore_share": 0.5, "minibatch": 32}
    settings = Settings({"source": "samples", "samples": samples}, actions=1600, games=4, layers=(16,), **own)
    scores, _ = run(learner, "multiple_choice", settings)
    assert scores["accuracy"] == 1.0


def test_every_line_names_its_command_and_commit():
    for line in LINES:
        settings = json.loads(line["command"].split("'")[1])
        assert line["split"] == "validation", "settings are never chosen on test rows"
        assert {line["learner"], line["task"]} <= set(line["command"].split())
        assert set(line["settings"]) <= {*settings, "options", "features"}
        assert line["commit"] != "d866911" or "not committed yet" in line["note"], "it has no such study"
        assert line["seconds"] > 0
