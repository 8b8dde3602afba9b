"""A collected dataset does not depend on processes or interruptions."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from helpers import commands
from loquent.cli import main as cli
from loquent.core import episode
from loquent.training.datasets import journal

LINE = ["collect", "counting:Count", "--agent", "counting:Counter", "--episodes", "200", "--seed", "7"]


def collected(folder, name, *more):
    assert cli.main([*LINE, "--out", str(folder / name), *more]) == 0
    return (folder / name / "episodes.jsonl").read_bytes()


@pytest.fixture(autouse=True)
def _own_modules(folder, monkeypatch):

    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    sys.modules.pop("counting", None)
    yield
    sys.modules.pop("counting", None)


def test_the_number_of_processes_changes_nothing(folder):
    one = collected(folder, "one")
    assert one == collected(folder, "two", "--processes", "2")
    assert one != collected(folder, "other", "--option", "rounds=2"), "the comparison can fail"
    assert not (folder / "one" / "shards").exists()


def test_what_is_refused_leaves_nothing_that_bars_the_next_call(folder, capsys):
    out = folder / "refused"
    assert (
        cli.main(
            ["collect", "wordle", "--agent", "expert", "agent.foo=3", "--episodes", "3", "--out", str(out)]
        )
        == 2
    )
    assert "foo" in capsys.readouterr().err
    assert not out.exists()
    assert (
        cli.main(
            [
                "collect",
                "wordle",
                "--agent",
                "expert",
                "--episodes",
                "3",
                "--split",
                "nosplit",
                "--out",
                str(out),
            ]
        )
        == 2
    )
    assert cli.main(["collect", "wordle", "--agent", "expert", "--episodes", "3", "--out", str(out)]) == 0


def test_the_episodes_are_the_games_in_order(folder):
    collected(folder, "one")
    read = list(episode.read(folder / "one" / "episodes.jsonl"))
    assert [(one.row, one.number) for one in read[:7]] == [
        ("r0", 0),
        ("r1", 0),
        ("r2", 0),
        ("r3", 0),
        ("r4", 0),
        ("r0", 1),
        ("r1", 1),
    ]
    assert len({(one.row, one.number) for one in read}) == len(read) == 200
    assert {one.agents["agent"] for one in read} == {"counter"}


def test_json_is_the_last_line_and_says_what_was_made(folder, capsys):
    collected(folder, "one", "--json")
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    read = list(episode.read(folder / "one" / "episodes.jsonl"))
    assert found["episodes"] == len(read)
    assert found["ended"] == {"done": 200}
    assert found["return"] == pytest.approx(sum(one.rewards["right"] for one in read) / 200, abs=1e-12)
    assert 1.2 < found["return"] < 1.8, "three coins a game"


@pytest.mark.parametrize("processes", ["1", "2"])
def test_killed_and_called_again_it_makes_the_same_file(folder, processes, loquent):
    line = [
        word.replace(":Count", ":Slow") if word.startswith("counting:Count") and "er" not in word else word
        for word in LINE
    ]
    whole = folder / "whole"
    assert cli.main([*line, "--out", str(whole)]) == 0
    out = folder / "killed"
    first = commands.Command(["loquent", *line, "--out", out, "--processes", processes], folder)
    limit = time.monotonic() + 60
    while not list(out.glob("shards/*.jsonl")) and time.monotonic() < limit:
        time.sleep(0.005)
    first.process.kill()
    first.ended()
    assert not (out / "episodes.jsonl").exists(), "the kill came too late to show anything"
    kept = {path: path.stat().st_mtime_ns for path in out.glob("shards/*.jsonl")}
    assert kept
    (out / "shards" / "000002.99999.partial").write_text('{"torn')
    again = loquent(*line, "--out", str(out), "--processes", processes)
    assert again.returncode == 0, again.stderr
    assert (out / "episodes.jsonl").read_bytes() == (whole / "episodes.jsonl").read_bytes()


def test_shards_that_are_there_are_not_played_again(folder):
    out = folder / "one"
    before = collected(folder, "one")
    (out / "episodes.jsonl").unlink()
    (out / "shards").mkdir()
    lines = before.splitlines(keepends=True)
    marked = b"".join(line.replace(b'"counter"', b'"marked!"') for line in lines[64:128])
    journal.write_shard(out / "shards" / "000001.jsonl", marked.decode())
    after = collected(folder, "one").splitlines(keepends=True)
    assert b"".join(after[64:128]) == marked
    assert after[:64] + after[128:] == lines[:64] + lines[128:]


@pytest.mark.parametrize("damage", ["a digit", "a line less", "a line more", "no digest", "another digest"])
def test_a_damaged_shard_is_refused_with_its_line(folder, capsys, damage):
    """Before, the changed digit went into the dataset."""
    out = folder / "one"
    lines = collected(folder, "one").splitlines(keepends=True)
    (out / "episodes.jsonl").unlink()
    (out / "shards").mkdir()
    shard = out / "shards" / "000001.jsonl"
    journal.write_shard(shard, b"".join(lines[64:128]).decode())
    if damage == "a digit":
        shard.write_bytes(b"".join([*lines[64:70], lines[70].replace(b"1", b"2", 1), *lines[71:128]]))
    elif damage == "a line less":
        shard.write_bytes(b"".join([*lines[64:70], *lines[71:128]]))
    elif damage == "a line more":
        shard.write_bytes(b"".join([*lines[64:70], lines[3], *lines[70:128]]))
    elif damage == "no digest":
        shard.with_suffix(journal.DIGEST).unlink()
    else:
        shard.with_suffix(journal.DIGEST).write_bytes(b"\xff")
    assert cli.main([*LINE, "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert (
        f"{shard}: 000001.digest is missing" in said
        if damage == "no digest"
        else f"{shard}:{1 if 'digest' in damage else 7}: " in said
    )
    assert not (out / "episodes.jsonl").exists()
    shard.unlink()
    assert collected(folder, "one").splitlines(keepends=True) == lines


@pytest.mark.parametrize(
    "change", [["--seed", "8"], ["--episodes", "201"], ["--agent", "random"], ["--option", "rounds=2"]]
)
def test_a_folder_of_another_collection_is_refused(folder, change, capsys):
    before = collected(folder, "one")
    assert cli.main([*LINE, "--out", str(folder / "one"), *change]) == 2
    assert "holds another collection" in capsys.readouterr().err
    assert (folder / "one" / "episodes.jsonl").read_bytes() == before


def test_called_twice_it_has_nothing_to_do(folder):
    before = collected(folder, "one")
    stamp = os.stat(folder / "one" / "episodes.jsonl").st_mtime_ns
    assert collected(folder, "one") == before
    assert os.stat(folder / "one" / "episodes.jsonl").st_mtime_ns == stamp


def test_no_process_outlives_a_killed_parent(folder, command):
    line = [*LINE, "--out", str(folder / "o"), "--processes", "2"]
    line[1], line[5] = "counting:Slow", "100000"
    parent = subprocess.Popen(command(*line), cwd=folder, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + 60
    while not list((folder / "o").glob("shards/*.jsonl")) and time.monotonic() < limit:
        time.sleep(0.01)
    children = [
        int(pid)
        for pid in subprocess.run(
            ["pgrep", "-P", str(parent.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
    ]
    assert len(children) >= 2
    assert all(_runs(pid) for pid in children)
    parent.kill()
    parent.wait()
    while any(_runs(pid) for pid in children) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not any(_runs(pid) for pid in children)


def _runs(pid):
    """Whether a process lives: it exists and is no zombie that nobody has buried yet."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_ctrl_c_exits_130_and_leaves_whole_shards(folder, command):
    line = [*LINE, "--out", str(folder / "o")]
    line[1], line[5] = "counting:Slow", "100000"
    # a shell's background jobs are started deaf to it
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    parent = subprocess.Popen(command(*line), cwd=folder, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    limit = time.monotonic() + 60
    while not list((folder / "o").glob("shards/*.jsonl")) and time.monotonic() < limit:
        time.sleep(0.01)
    parent.send_signal(signal.SIGINT)
    errors = parent.communicate(timeout=60)[1]
    assert parent.returncode == 130
    assert "Traceback" not in errors
    assert "interrupted" in errors
    assert all(len(path.read_text().splitlines()) == 64 for path in (folder / "o").glob("shards/*.jsonl"))
