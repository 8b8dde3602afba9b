"""`loquent annotate` through a real terminal: wrong input, Ctrl-C and going on lose nothing.

And with an oracle.
"""

import json
import re
import signal

import pytest

from helpers.terminal import Terminal
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


LINE = ("annotate", "mine.yaml", "--samples", "samples.jsonl", "--out", "session")


def correct(terminal, id):
    """Correct every letter of a sample."""
    for place, label in enumerate(GOLD[id], 1):
        terminal.type(f"{place} {label}\n", r"> $")


def kept(folder):
    return [json.loads(line) for line in (folder / "session" / "annotations.jsonl").read_text().splitlines()]


def test_a_session_at_a_terminal(folder):
    one = Terminal(folder, *LINE)
    assert re.search(r"sample 1 of 3 \(s1\)(.|\n)*1  a  (other|vowel)", one.until(r"> $"))
    for wrong, answer in (
        ("x", "neither"),
        ("9 vowel", "tokens 1 to 3"),
        ("1 vovel", "did you mean vowel"),
        ("\x1b[A", "did you mean vowel"),  # the line before comes back
        ("?", "other vowel"),
    ):
        assert answer in one.type(wrong + "\n", r"> $")
    correct(one, "s1")
    assert "1/3" in one.type("\n", r"sample 2 of 3(.|\n)*> $")
    assert [line["given"] for line in kept(folder)] == [GOLD["s1"]]
    correct(one, "s2")
    # Ctrl-C, behind corrections that have not been taken
    assert "2 are left" in one.type("\x03", "interrupted")
    assert one.left() == 130
    assert [line["id"] for line in kept(folder)] == ["s1"]

    two = Terminal(folder, *LINE)
    shown = two.until(r"> $")
    assert "sample 2 of 3 (s2)" in shown
    assert re.findall(r"\d  \w  (\w+)", shown) == GOLD["s2"]  # the corrections are still there
    two.type("\n", r"sample 3 of 3(.|\n)*> $")
    two.process.kill()  # no goodbye at all
    assert two.left() == -signal.SIGKILL
    assert [line["given"] for line in kept(folder)] == [GOLD["s1"], GOLD["s2"]]

    three = Terminal(folder, *LINE)
    three.until(r"sample 3 of 3 \(s3\)(.|\n)*> $")
    three.type("\x04", "1 are left")  # the end of the input
    assert three.left() == 0

    four = Terminal(folder, *LINE, "--json")
    four.until(r"> $")
    correct(four, "s3")
    told = json.loads(four.type("\n", r"\{.*\}\s*$").strip().splitlines()[-1])
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
