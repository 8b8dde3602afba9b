"""A person at a real terminal: lines are edited, earlier ones come back, and every game is followed by the
offer of another.
"""

import json

import pytest

from helpers.terminal import Terminal
from loquent.core import episode

pytest.importorskip("readline")


def test_lines_are_edited_and_another_game_is_offered(folder):
    terminal = Terminal(folder, "play", "wordle", "--row", "train:steel", "--save", "kept.jsonl")
    terminal.until("hint\\)> $")
    assert "once more" in terminal.type("nope\n", "hint\\)> $")
    # left, left, left, s, right, right, right, d
    terminal.type("pee\x1b[D\x1b[D\x1b[Ds\x1b[C\x1b[C\x1b[Cd\n", "hint\\)> $")
    terminal.type("\x1b[A\n", "hint\\)> $")  # the line before
    shown = terminal.type("steel\n", r"Another game\? \(y or n\)> $")
    assert "What was right: steel" in shown
    assert "y plays another game" in terminal.type("perhaps\n", "y or n\\)> $")
    terminal.type("y\n", "hint\\)> $")
    terminal.type("crane\n" * 6, r"What was right: \w+[^$]*y or n\)> $")
    terminal.type("n\n", r"\n")
    assert terminal.left() == 0
    first, second = episode.read(folder / "kept.jsonl")
    assert [turn.text for turn in first.answers()] == ["speed", "speed", "steel"]
    assert second.row != first.row
    assert second.number == 1


@pytest.mark.parametrize("task", ["generation", "tagging", "multiple_choice", "multilabel", "counting:Count"])
def test_every_task_offers_another_game(task, folder):
    terminal = Terminal(folder, "play", task)
    shown = terminal.until("agent> $")
    while "Another game" not in shown:
        shown = terminal.type("terminate\n" if task == "multilabel" else "ANSWER\n", r"(agent|n\))> $")
    assert ("What was right: " in shown) is (task != "counting:Count")
    terminal.type("\x04", r"\n")
    assert terminal.left() == 0


def test_who_is_no_terminal_is_not_asked(loquent):
    done = loquent("play", "wordle", "--row", "train:steel", "--json", stdin="steel\ny\n")
    assert done.returncode == 0
    assert "Another" not in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["solution"] == "steel"
