"""Files from outside the current folder reach out in no command; the watch of `foreign_files` can see."""

import socket

import pytest
import yaml

from loquent.cli import main as cli
from tools.stress import foreign_files, foreign_trees

WATCH = foreign_files.Watch()


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("count", "trained"),
    [(100, False), pytest.param(10_000, True, marks=[pytest.mark.slow, pytest.mark.timeout(0)])],
)
def test_no_file_reaches_out(count, trained, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    report = foreign_files.run(
        count, 3, tmp_path, trained=trained, quick=0.9 if trained else 1.0, watch=WATCH
    )
    assert report["reached"] == report["raised"] == []
    assert report["codes"]["refused"] > count / 10, "names reach the gate"
    assert len(report["commands"]) >= 12


@pytest.mark.enable_socket
@pytest.mark.parametrize(
    ("task", "reached"),
    [
        ({"kind": f"{foreign_trees.BAIT}:s"}, f"import {foreign_trees.BAIT}"),
        ({"kind": "dialogue", "answerer": foreign_trees.ASKED}, "secret"),
        ({"kind": "dialogue", "answerer": {**foreign_trees.ASKED, "url": "PORT"}}, "socket.connect"),
    ],
)
def test_the_watch_sees_what_an_allowed_file_reaches(task, reached, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    closed = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    closed.close()
    recipe = {**foreign_trees.RECIPES[3], "task": task}
    text = yaml.safe_dump(recipe).replace("PORT", address)
    (tmp_path / "mine.yaml").write_text(text)
    with WATCH.watching() as seen:
        cli.main(["train", "mine.yaml", "--out", "out"])
    assert reached in seen
