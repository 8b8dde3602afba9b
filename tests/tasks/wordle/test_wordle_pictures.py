"""The pictures of a Wordle board: as an array, and in colours at a terminal."""

import io

import pytest

from loquent.agents.human import colours
from loquent.core.agent import make
from loquent.core.rollout.loop import Game, play
from loquent.core.seeding import Key
from loquent.errors import BadSetting
from loquent.tasks.wordle import views
from loquent.tasks.wordle.experts import StartWord
from loquent.tasks.wordle.rules import Uniform
from loquent.tasks.wordle.task import Wordle
from loquent.tasks.wordle.terminal import render_ansi


def test_the_picture_by_hand():
    task = Wordle()
    step = task.act(task.start(task.row("train", "train:steel"), Key(0)), "crane")
    step = task.act(task.act(step, "nonsense"), "steel")
    picture = views.board(step.observation)
    # c is letter 3, r 18, a 1, n 14, e 5; marks b 1, y 2, g 3; the invalid word leaves no row
    assert picture[0].tolist() == [[3, 1], [18, 1], [1, 1], [14, 1], [5, 2]]
    assert picture[1, :, 1].tolist() == [3] * 5
    assert not picture[2:].any()
    assert picture in views.BOARD[0]
    assert views.board(step.observation) is not picture


def test_colours_by_hand():
    # crane against steel: e elsewhere, the rest nowhere; speed: s and third e in place, p and d nowhere, the
    # fourth e elsewhere
    shown = render_ansi((("crane", "bbbby"), ("speed", "gbgyb")), 4).splitlines()
    green, yellow, grey = (
        "\x1b[1;30;42m {} \x1b[0m",
        "\x1b[1;30;43m {} \x1b[0m",
        "\x1b[1;37;100m {} \x1b[0m",
    )
    assert shown[0] == "".join(grey.format(letter) for letter in "CRAN") + yellow.format("E")
    assert shown[1] == green.format("S") + grey.format("P") + green.format("E") + yellow.format(
        "E"
    ) + grey.format("D")
    assert shown[2:6] == [" _  _  _  _  _ "] * 4
    assert len(shown) == 7
    assert "\x1b[1;32me\x1b[0m" in shown[6]  # the best that is known of e: its place
    assert "\x1b[90mc\x1b[0m" in shown[6]
    assert "x" in shown[6].replace("\x1b", "")
    assert shown[6].count("\x1b[0m") == len(set("cranespeed"))


def sit(typed, monkeypatch, colour, options=None, name="wordle/person"):
    monkeypatch.setenv("FORCE_COLOR", "1" if colour else "")
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    task = Wordle()
    player = make(name, task, options)
    [played] = play(task, [Game(task.row("train", "train:steel"))], player, seed=0)
    player.farewell(played)
    return [turn.text for turn in played.answers()], out.getvalue(), played


def test_a_person_plays_with_colours_and_hints(monkeypatch):
    said, shown, played = sit("crane\nabc\n?\nsteel\n", monkeypatch, True)
    task = Wordle()
    assert said[0] == "crane"
    after = task.act(task.start(task.row("train", "train:steel"), Key(0)), "crane")
    assert said[1] in [task.words[i] for i in task.lexicon.best(after.state.board)]
    assert said[-1] == "steel"
    assert f"hint: {said[1]}\n" in shown
    assert "not five letters a-z: 'abc'; once more" in shown
    assert render_ansi((("crane", "bbbby"),), 5) in shown
    assert render_ansi(played.turns[-1].observation.fields["board"], 6 - len(said)) in shown
    assert "bbbby" not in shown
    assert shown.count("of 738 actions") == 1


def test_without_colours_marks_are_shown(monkeypatch):
    _, shown, _ = sit("crane\nsteel\n", monkeypatch, False)
    assert "bbbby\n" in shown
    assert "\x1b" not in shown
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not colours(io.StringIO())


def test_hints_are_anothers_or_none(monkeypatch):
    said, _, _ = sit(
        "?\nsteel\n", monkeypatch, False, {"hint": {"kind": "wordle/start_word", "words": ["crane"]}}
    )
    assert said == ["crane", "steel"]
    said, shown, _ = sit("?\nsteel\n", monkeypatch, False, {"hint": ""})
    assert said == ["steel"]  # asked again: it is no guess
    assert "hint" not in shown
    said, _, _ = sit("?\n?\nsteel\n", monkeypatch, False, {}, "human")
    assert said == ["?", "steel"]  # a plain person says what is typed, when it was typed twice
    said, shown, _ = sit("?\n?\n?\n?\n?\n?\n", monkeypatch, False, {"hint": "expert"}, "human")
    assert said[-1] == "steel"
    with pytest.raises(BadSetting, match=r"human\.hint: wordle/person is a person too"):
        make("human", Wordle(), {"hint": "wordle/person"})


def test_a_hint_that_is_no_guess_is_not_said(monkeypatch):
    said, shown, _ = sit(
        "?\nsteel\n", monkeypatch, False, {"hint": {"kind": "wordle/repeat", "start": f"{__name__}:Mute"}}
    )
    assert said == ["steel"]
    assert "hint: \n" in shown


class Mute(StartWord):
    """Says nothing."""

    def parts(self, seen):
        return [(1.0, Uniform(("",)))]
