"""Every example runs as it stands, offline, and prints what it should."""

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import commands

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name, *words, folder=EXAMPLES.parent):
    """What an example prints."""
    done = commands.Command([EXAMPLES / name, *words], folder).ended(300)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    return done.stdout


def test_a_random_player_answers_a_question():
    printed = run("answer_questions.py")
    actions = re.findall(r"^Action: (ANSWER|CONTINUE)$", printed, re.MULTILINE)
    assert actions
    assert set(actions[:-1]) <= {"CONTINUE"}
    chosen, right, total = re.search(r"Chosen: (\w), right: (\w)\. Total reward: (.*)", printed).groups()
    assert float(total) == float(chosen == right)
    assert chosen == "ABCDEFGH"[actions.count("CONTINUE") if actions[-1] == "ANSWER" else len(actions) - 1]


def test_questions_of_ones_own(tmp_path):
    (tmp_path / "train.jsonl").write_text(
        '{"question": "Flowers require _.", "choices": ["insects"], "answer": "A"}\n'
    )
    printed = run("answer_questions.py", tmp_path)
    assert "Flowers require _." in printed
    assert "Chosen: A, right: A. Total reward: 1.0" in printed


def test_a_tagger_is_trained():
    pytest.importorskip("stable_baselines3")
    before, after = map(float, re.findall(r"token F1 .*: (\d\.\d\d)$", run("train_tagger.py"), re.MULTILINE))
    assert before < 0.4 < 0.6 < after


@pytest.mark.slow
def test_suggestions_get_better_while_samples_come():
    pytest.importorskip("stable_baselines3")
    first, second = map(
        float, re.findall(r"suggestions (\d\.\d\d)$", run("online_learning.py"), re.MULTILINE)
    )
    assert second > first


def test_files_of_ones_own_are_tagged(tmp_path):
    pytest.importorskip("stable_baselines3")
    (tmp_path / "train.conll").write_text("EU\tORG\nrejects\tO\n\nPeter\tPER\n\n" * 20)
    assert len(run("online_learning.py", tmp_path, 25).splitlines()) == 1


def test_custom_parts():
    printed = run("custom_parts.py")
    assert printed.splitlines() == [
        f"[1.0, 0.0, {single(3 / 12)}, 0.0, 0.0, 0.0]",
        f"PER 1.0 [0.0, 0.0, {single(4 / 12)}, 0.0, 1.0, 0.0]",
        "LOC -1.0 [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]",
        "True ('PER', 'LOC') ('PER', 'O')",
    ]


def test_a_proxy_is_optimised_and_drawn(base_run, tmp_path, monkeypatch):
    """The example with smaller numbers; its real figure is in docs/results."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])
    example = importlib.import_module(Path("over_optimization.py").stem)
    assert example.gold("i liked it . i saw it twice") == 2
    assert example.gold("i like i like i like") == 2 - 3 / 2  # "i like" twice more, "like i" once more
    # a base model of two updates says nothing in the first person
    smaller = {"PROMPTS": 40, "UPDATES": 2, "EVALUATED": 8, "gold": lambda text: float(len(text) % 7)}
    smaller |= {"RUNS": {"beta 0": 0.0}, "EPISODES": 16}
    for name, value in smaller.items():
        monkeypatch.setattr(example, name, value)
    example.main(tmp_path / "out", base_run)
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    for course in results["runs"].values():
        assert [point["update"] for point in course["points"]] == [0, 1]
        assert course["points"][0]["kl"] == 0 != course["points"][1]["kl"]
    drawn = (tmp_path / "out" / "over_optimization.svg").read_text()
    assert drawn.count('<path class="line ') == 2 + 2  # two curves, each with its key


def single(number):
    """A number in single precision, as it is printed."""
    return float(np.float32(number))


ELSEWHERE = ("ppo_in_one_file.py",)  # tests/test_ppo_in_one_file.py


def test_every_example_stands_in_the_table():
    text = (EXAMPLES / "README.md").read_text()
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(re.findall(r"\]\((\w+\.py)\)", text))
    here = Path(__file__).read_text()
    assert [path.name for path in EXAMPLES.glob("*.py") if f'"{path.name}"' not in here] == []


def test_an_example_that_fails_is_caught(tmp_path):
    with pytest.raises(AssertionError, match="gone"):
        run("answer_questions.py", tmp_path / "gone")
