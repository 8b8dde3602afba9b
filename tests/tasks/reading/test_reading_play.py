"""`loquent play reading`: shortcuts, bad commands, the end of the budget (I-25 of iMRC's specification)."""

import io

import pytest

from helpers.tasks import harvard
from loquent.cli.main import main


def played(monkeypatch, capsys, typed, *arguments):
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    code = main(["play", "reading", "--split", "test", "--row", "test-50-20", *arguments])
    return code, capsys.readouterr().out


def test_i_25_shortcuts(monkeypatch, capsys):
    code, out = played(monkeypatch, capsys, "n\np\ncf dowry\ns\n")
    assert code == 0
    assert "Torlow's dowry came to 115 coins" in out
    assert [out.count(f"{left} commands left") for left in (20, 19, 18, 17, 16)] == [1, 1, 1, 1, 0]
    assert "The game ended: stopped. Rewards: sufficient 1." in out
    assert "What was right: 115 coins" in out


def test_i_25_a_bad_command_asks_again(monkeypatch, capsys):
    code, out = played(monkeypatch, capsys, "jump\ncf lion\ncf\nnext\nstop\n")
    assert code == 0
    assert [out.count(why) for why in ("not a command", "query not allowed", "no query")] == [1, 1, 1]
    assert "The game ended: stopped. Rewards: sufficient 0." in out


def test_i_25_the_end_of_the_budget_shows_the_golds(monkeypatch, capsys):
    code, out = played(monkeypatch, capsys, "n\n" * 25)
    assert code == 0
    assert "The game ended: budget. Rewards: sufficient 1." in out
    assert "What was right: 115 coins" in out


@pytest.mark.parametrize("answer", ["115 coins", "coins"])
def test_i_25_a_typed_answer_is_scored(monkeypatch, capsys, answer):
    code, out = played(monkeypatch, capsys, f"cf dowry\ns\n{answer}\n", "answer_phase=true")
    assert code == 0
    assert "Answer the question.\nagent" in out  # no list of commands between
    assert ("f1 1, em 1" in out) == (answer == "115 coins")
    assert ("f1 0.666667, em 0" in out) == (answer == "coins")


def test_a_hint(monkeypatch, capsys):
    code, out = played(monkeypatch, capsys, "?\n?\n")
    assert code == 0
    assert "hint: ctrl+f dowry" in out
    assert "hint: stop" in out


def test_a_coloured_picture_marks_the_words_of_the_question():
    world = harvard.task()
    [after] = harvard.play(world, harvard.start(world), "ctrl+f 2011")
    picture = world.render_ansi(after.observation)
    assert picture.splitlines()[0] == "\x1b[1mwhat was the harvard endowment total in 2011 ?\x1b[0m"
    assert "\x1b[1;33m2011\x1b[0m , it had" in picture
    assert [line[0] for line in picture.splitlines()[1:]] == [" ", ">"]
