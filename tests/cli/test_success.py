"""Success on the command line: evaluated, collected and played games say the share that succeeded, first and
of all games.
"""

import json

import pytest

from loquent.cli import main as cli
from loquent.core import episode
from loquent.files import final_evaluation

SMALL = ("limit=30", "feedback=letters")


def said(capsys, *line):
    assert cli.main([*line, "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    return lines, json.loads(lines[-1])


def test_a_collection_says_how_many_games_succeeded(tmp_path, capsys):
    out = tmp_path / "games"
    line = ("collect", "wordle", *SMALL, "--agent", "wordle/random", "--episodes", "40", "--out", str(out))
    lines, found = said(capsys, *line)
    solved = sum(one.ended == "solved" for one in episode.read(out / "episodes.jsonl"))
    assert 0 < solved < 40
    assert found["success"] == solved / 40
    assert any(f"success {solved / 40:.4g}, mean return" in line for line in lines)


def test_an_evaluation_and_a_game_say_it(capsys):
    options = [word for one in SMALL for word in ("--option", one)]
    lines, found = said(capsys, "evaluate", "wordle/random", "--task", "wordle", *options, "--episodes", "40")
    assert lines[1].split()[0] == "success"
    assert (
        found["values"]["success"]
        == found["values"]["ended/solved"]
        == pytest.approx(1 - found["values"]["ended/out of turns"])
    )
    assert 0 < found["values"]["success"] < 1
    assert 0 < found["errors"]["success"] < 0.1
    _, found = said(capsys, "play", "wordle", *SMALL, "--agent", "wordle/optimal")
    assert found["success"] is (found["ended"] == "solved")


def test_an_evaluation_says_on_how_many_rows_it_played(capsys):
    """The test split has fewer rows than 40, so rows are played again."""
    options = [word for one in SMALL for word in ("--option", one)]
    lines, found = said(capsys, "evaluate", "wordle/random", "--task", "wordle", *options, "--episodes", "40")
    decoding = "; decoding: agent wordle/random"
    assert lines[0].endswith(f", test, 40 episodes on {found['rows']} rows{decoding}")
    assert (found["n"], found["episodes"]) == (40, 40)
    assert 1 < found["rows"] < 40
    lines, found = said(capsys, "evaluate", "wordle/random", "--task", "wordle", *options, "--episodes", "1")
    assert lines[0].endswith(f", test, 1 episode on 1 row{decoding}")
    assert found["errors"] == {}


def test_an_evaluation_of_an_earlier_version_has_no_rows_to_say():
    older = final_evaluation.size({"n": 3})
    assert older.startswith("3 episodes on an unknown number of rows (an earlier version wrote")
    assert "count episodes on one row as independent, so evaluate again" in older
    assert final_evaluation.size({"n": 3, "rows": 1}) == "3 episodes on 1 row"
