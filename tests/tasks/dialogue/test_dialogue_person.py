"""A person asks about an image at the terminal and sees how the rank improves: `loquent play dialogue`."""

import io
import re
import sys

from loquent.cli.main import main


def played(typed, monkeypatch, capsys, *options):
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in typed)))
    code = main(["play", "dialogue", "--split", "test", "--option", "percentile=0.9", *options])
    output = capsys.readouterr()
    return code, output.out, output.err


def test_a_person_asks_and_sees_the_rank_improve(monkeypatch, capsys):
    typed = ["what time is it?", "what color is it?", "?", "", *["?"] * 4]
    hint = ("--option", "agent.hint=dialogue/careful")
    code, shown, _ = played(typed, monkeypatch, capsys, *hint)
    assert code == 0
    standing = [float(text) for text in re.findall(r"ahead of ([\d.]+)% of all images", shown)]
    assert standing == sorted(standing)
    assert standing[1] == standing[0] < standing[-1], "the time says nothing about an image, other answers do"
    assert "what time is it?" not in shown, "a person's own text is not repeated"
    assert "i can't tell" in shown
    assert "The game ended: found." in shown


def test_a_person_who_leaves_keeps_nothing_unasked(monkeypatch, capsys):
    code, shown, error = played(["what color is it?"], monkeypatch, capsys)
    assert code == 0
    assert "9 questions left" in shown
    assert "left after 1 answer;" in error
