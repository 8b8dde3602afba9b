"""Trackers get what metrics.jsonl has, survive a resume, and can neither change a run nor end it."""

import importlib.util
import json
import math
import sqlite3
import sys

import pytest

from loquent.errors import BadSetting, MissingExtra
from loquent.files import trackers
from loquent.files.trackers import Started, Trackers
from loquent.training import recipes
from loquent.training.train import train

LINES = [
    {"update": 1, "rollout/return": 0.5, "critic/explained_variance": None},
    {"update": 2, "rollout/return": 0.75, "kl/reference": math.nan},
]


def started(folder, first=1):
    return Started(folder, "small", {"name": "small", "training": {"seed": 0}}, first)


def needs(name):
    return pytest.mark.skipif(
        importlib.util.find_spec(name) is None, reason=f"{name} is not installed: pip install -e '.[{name}]'"
    )


def events(folder):
    """(step, value) of each scalar that TensorBoard's own reader finds."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(folder / "tensorboard"))
    reader.Reload()
    return {tag: [(one.step, one.value) for one in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


@needs("tensorboard")
def test_tensorboard_has_what_was_logged(tmp_path):
    sinks = Trackers(("tensorboard",), started(tmp_path))
    for line in LINES:
        sinks.log(line)
    sinks.close()
    assert events(tmp_path) == {"rollout/return": [(1, 0.5), (2, 0.75)]}


@needs("tensorboard")
def test_tensorboard_after_a_resume_has_each_update_once(tmp_path):
    for first, lines in (
        (1, LINES),
        (2, [{"update": 2, "rollout/return": 0.75}, {"update": 3, "rollout/return": 1.0}]),
    ):
        sinks = Trackers(("tensorboard",), started(tmp_path, first))
        for line in lines:
            sinks.log(line)
        sinks.close()
    assert events(tmp_path)["rollout/return"] == [(1, 0.5), (2, 0.75), (3, 1.0)]


@needs("trackio")
def test_trackio_has_each_update_once_in_its_local_database_after_a_resume_too(tmp_path):
    for first, returns in ((1, {1: 0.5, 2: 0.75}), (2, {2: 0.75, 3: 1.0})):
        lines = [{"update": update, "rollout/return": value} for update, value in returns.items()]
        code = (
            "import json, sys; from pathlib import Path; from loquent.files.trackers import "
            f"Started, Trackers\nsinks = Trackers(('trackio',), Started(Path({str(tmp_path)!r}), "
            f"'small', {{'name': 'small'}}, {first}))\n[sinks.log(line) for line in "
            f"json.loads({json.dumps(json.dumps(lines))})]\nsinks.close()"
        )
        done = offline(code, TRACKIO_DIR=str(tmp_path / "db"))
        assert done.stdout == "", "stdout is for results"
    [database] = (tmp_path / "db").glob("loquent*.db")
    with sqlite3.connect(database) as connection:
        rows = connection.execute("select step, metrics from metrics order by step").fetchall()
    assert [(step, json.loads(metrics)["rollout/return"]) for step, metrics in rows] == [
        (1, 0.5),
        (2, 0.75),
        (3, 1.0),
    ]


@needs("wandb")
def test_wandb_writes_a_run_to_this_machine_when_it_is_told_to(tmp_path):
    code = (
        "import json; from pathlib import Path; from loquent.files.trackers import Started, Trackers\n"
        f"sinks = Trackers(('wandb',), Started(Path({str(tmp_path)!r}), 'small', {{'name': 'small'}}, 1))\n"
        "sinks.log({'update': 1, 'rollout/return': 0.5})\nsinks.close()"
    )
    assert offline(code, WANDB_MODE="offline", WANDB_SILENT="true").stdout == ""
    [file] = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    assert b"rollout/return" in file.read_bytes()


def offline(code, **environment):
    """Run Python in a process of its own, with its home in nowhere."""
    import os
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done


class Broken:
    """A sink whose network has gone."""

    def __init__(self, run):
        pass

    def log(self, update, values):
        raise ConnectionError("no route to host")

    def close(self):
        raise AssertionError("a sink that failed is left alone")


def test_a_sink_that_fails_is_left_out_with_a_warning(tmp_path, monkeypatch):
    monkeypatch.setitem(trackers.SINKS, "broken", Broken)
    sinks = Trackers(("broken",), started(tmp_path))
    with pytest.warns(UserWarning, match="broken fails and is left out.*no route to host"):
        sinks.log(LINES[0])
    sinks.log(LINES[1])
    sinks.close()


def test_a_name_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(BadSetting, match="'tensorbord' is no tracker; nearest: tensorboard"):
        recipes.load("reviews_ppo", ["training.trackers=[tensorbord]"])


def test_a_library_that_is_missing_is_named_before_the_run_begins(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"loquent\[wandb\]"):
        train(
            recipes.load("reviews_ppo", ["training.trackers=[wandb]"], profile="smoke"),
            tmp_path / "run",
            progress=False,
        )
    assert not (tmp_path / "run").exists()


def global_states():
    import random

    import numpy as np
    import torch

    return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002 - what is guarded here


@needs("tensorboard")
def test_a_run_with_a_tracker_is_the_same_run(tmp_path):
    small = ["task.limit=60", "metrics={diversity: {}}", "rewards={lexicon: 1.0}"]
    bare = train(recipes.load("reviews_ppo", small, profile="smoke"), tmp_path / "bare", progress=False)
    before = global_states()
    tracked = train(
        recipes.load("reviews_ppo", [*small, "training.trackers=[tensorboard]"], profile="smoke"),
        tmp_path / "tracked",
        progress=False,
    )
    assert global_states() == before, "no global generator is touched"
    assert tracked.fingerprint == bare.fingerprint
    returns = events(tracked.folder)["rollout/return"]
    assert [(line["update"], pytest.approx(line["rollout/return"])) for line in tracked.metrics] == returns
