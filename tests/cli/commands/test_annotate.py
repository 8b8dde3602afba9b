"""`loquent annotate` through a real terminal: wrong input, Ctrl-C and going on lose nothing.

And with an oracle.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

import pytest

from loquent.cli import main as cli
from loquent.core.options import dump
from loquent.files.run_folder import RunFolder

pytest.importorskip("stable_baselines3")

TEXTS = {"s1": "abc", "s2": "eel", "s3": "of"}
GOLD = {id: ["vowel" if letter in "aeiou" else "other" for letter in text] for id, text in TEXTS.items()}


@pytest.fixture
def folder(tmp_path):
    """A recipe and a file of samples without annotations."""
    algorithm = {
        "kind": "sb3/ppo",
        "features": {"kind": "hashed", "dimension": 16},
        "network": [8],
        "games": 2,
        "rollout": 4,
        "steps": 16,
        "minibatch": 4,
    }
    task = {"kind": "tagging", "source": "samples", "labels": ["other", "vowel"], "instruct": False}
    (tmp_path / "mine.yaml").write_text(
        dump({"task": task, "algorithm": algorithm, "training": {"updates": 3}})
    )
    (tmp_path / "samples.jsonl").write_text(
        "".join(json.dumps({"id": id, "tokens": list(text)}) + "\n" for id, text in TEXTS.items())
    )
    return tmp_path


def in_terminal():
    """Make the standard input the process's own terminal, so that Ctrl-C at it is heard."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Terminal:
    """The command in a terminal of its own."""

    def __init__(self, folder, *more):
        self.mine, theirs = pty.openpty()
        line = [
            sys.executable,
            "-m",
            "loquent.cli.main",
            "annotate",
            "mine.yaml",
            "--samples",
            "samples.jsonl",
            "--out",
            "session",
            *more,
        ]
        places = os.pathsep.join(place for place in sys.path if place)
        environment = {**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            line,
            cwd=folder,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            start_new_session=True,
            preexec_fn=in_terminal,
        )
        os.close(theirs)
        self.seen = ""

    def until(self, pattern, seconds=120):
        """Read until a pattern comes; returns all that was shown since the last one."""
        end = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            if time.monotonic() > end:
                raise AssertionError(f"{pattern!r} did not come; seen: {self.seen!r}")
            if select.select([self.mine], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.mine, 65_536).decode()
                except OSError:  # the other end has gone
                    break
        found, self.seen = self.seen, ""
        assert re.search(pattern, found), found
        return found

    def type(self, text):
        os.write(self.mine, text.encode())

    def left(self):
        """Wait for the end; the exit code."""
        code = self.process.wait(60)
        os.close(self.mine)
        return code


def correct(terminal, id):
    """Correct every letter of a sample."""
    for place, label in enumerate(GOLD[id], 1):
        terminal.type(f"{place} {label}\n")
        terminal.until(r"> $")


def kept(folder):
    return [json.loads(line) for line in (folder / "session" / "annotations.jsonl").read_text().splitlines()]


def test_a_session_at_a_terminal(folder):
    one = Terminal(folder)
    assert re.search(r"sample 1 of 3 \(s1\)(.|\n)*1  a  (other|vowel)", one.until(r"> $"))
    for wrong, answer in (
        ("x", "neither"),
        ("9 vowel", "tokens 1 to 3"),
        ("1 vovel", "did you mean vowel"),
        ("\x1b[A", "did you mean vowel"),  # the line before comes back
        ("?", "other vowel"),
    ):
        one.type(wrong + "\n")
        assert answer in one.until(r"> $")
    correct(one, "s1")
    one.type("\n")
    assert "1/3" in one.until(r"sample 2 of 3(.|\n)*> $")
    assert [line["given"] for line in kept(folder)] == [GOLD["s1"]]
    correct(one, "s2")
    one.type("\x03")  # Ctrl-C, behind corrections that have not been taken
    assert "2 are left" in one.until("interrupted")
    assert one.left() == 130
    assert [line["id"] for line in kept(folder)] == ["s1"]

    two = Terminal(folder)
    shown = two.until(r"> $")
    assert "sample 2 of 3 (s2)" in shown
    assert re.findall(r"\d  \w  (\w+)", shown) == GOLD["s2"]  # the corrections are still there
    two.type("\n")
    two.until(r"sample 3 of 3(.|\n)*> $")
    two.process.kill()  # no goodbye at all
    assert two.left() == -signal.SIGKILL
    assert [line["given"] for line in kept(folder)] == [GOLD["s1"], GOLD["s2"]]

    three = Terminal(folder)
    three.until(r"sample 3 of 3 \(s3\)(.|\n)*> $")
    three.type("\x04")  # the end of the input
    three.until("1 are left")
    assert three.left() == 0

    four = Terminal(folder, "--json")
    four.until(r"> $")
    correct(four, "s3")
    four.type("\n")
    told = json.loads(four.until(r"\{.*\}\s*$").strip().splitlines()[-1])
    assert four.left() == 0
    assert (told["samples"], told["left"], told["decisions"]) == (3, 0, 8)
    assert [line["given"] for line in kept(folder)] == list(GOLD.values())
    assert RunFolder(folder / "session").checkpoints.all()[-1].name == "update-3"
    assert len((folder / "session" / "metrics.jsonl").read_text().splitlines()) == 3


def test_an_oracle_corrects(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "samples.jsonl").write_text(
        "".join(json.dumps({"id": id, "tokens": list(TEXTS[id]), "labels": GOLD[id]}) + "\n" for id in TEXTS)
    )
    line = ["annotate", "mine.yaml", "--samples", "samples.jsonl", "--oracle", "--out", "session", "--json"]
    assert cli.main([*line, "--limit", "2"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["left"] == 1
    assert cli.main(line) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["samples"], told["left"]) == (3, 0)
    assert told["saved"] == 1 - told["corrected"] / 8
    assert [one["given"] for one in kept(folder)] == list(GOLD.values())


def test_mistakes_are_named(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    for more, why in (
        (["--samples", "gone.jsonl"], "there is no such file"),
        (["--samples", "samples.jsonl", "--oracle"], "no sample has an annotation"),
        (["--samples", "bad.jsonl"], "bad.jsonl:1"),
    ):
        (folder / "bad.jsonl").write_text('{"words": "a"}\n')
        assert cli.main(["annotate", "mine.yaml", *more, "--out", "other"]) == 2
        assert why in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["annotate", "mine.yaml", "--weight", "-1"])
