"""Playing at the terminal, and watching."""

import json
import signal
import subprocess

import pytest

from loquent import episode


def test_a_person_plays_to_the_end(loquent):
    done = loquent("play", "counting:Count", "--row", "r2", "--json", stdin="3\nseven\n5\n")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ended"] == "done"
    assert found["rewards"] == {"right": 2.0}
    assert found["return"] == 2.0
    assert [turn["text"] for turn in found["episode"]["turns"] if turn["seat"] == "agent"] == ["3", "seven", "5"]


def test_what_a_task_writes_cannot_move_the_cursor(loquent):
    done = loquent("play", "counting:Count", "--row", "r2", stdin="3\n4\n5\n")
    watched = loquent("play", "counting:Count", "--row", "r2", "--agent", "counting:Counter")
    for text in (done.stdout, watched.stdout):
        assert "after 2?" in text
        assert "\x1b" not in text
        assert "\\x1b[31m" in text


def test_the_end_of_input_is_an_interruption(loquent):
    done = loquent("play", "counting:Count", stdin="1\n")
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert "--save FILE would have kept it" in done.stderr


def test_a_game_that_is_left_is_kept_as_one_that_has_not_ended(loquent, folder):
    done = loquent("play", "counting:Count", "--row", "r2", "--save", "kept.jsonl", stdin="3\n4\n")
    assert done.returncode == 130
    assert "left after 2 answers, and stands in kept.jsonl" in done.stderr
    [kept] = episode.read(folder / "kept.jsonl")
    assert [turn.text for turn in kept.answers()] == ["3", "4"]
    assert (kept.ended, kept.bootstraps, dict(kept.rewards)) == (None, True, {"right": 2.0})
    done = loquent("play", "counting:Count", "--save", "none.jsonl", stdin="")
    assert "nothing was played" in done.stderr
    assert not (folder / "none.jsonl").exists()


def test_a_game_left_by_ctrl_c_is_kept_too(command, folder):
    line = command("play", "counting:Count", "--row", "r2", "--save", "kept.jsonl")
    game = subprocess.Popen(line, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    game.stdin.write(b"3\n")
    game.stdin.flush()
    shown = b""
    while shown.count(b"agent> ") < 2:
        shown += game.stdout.read1()
    game.send_signal(signal.SIGINT)
    errors = game.communicate(timeout=60)[1]
    assert game.returncode == 130
    assert b"Traceback" not in errors
    assert [turn.text for turn in next(episode.read(folder / "kept.jsonl")).answers()] == ["3"]


@pytest.mark.parametrize("agent", ["expert", "random", "counting:Counter"])
def test_an_agent_is_watched_and_the_game_kept(loquent, folder, agent):
    lines = [
        loquent("play", "counting:Count", "rounds=2", "--agent", agent, "--seed", "3", "--save", "kept.jsonl", "--json").stdout for _ in range(2)
    ]
    assert lines[0] == lines[1], "the same seed is the same game"
    kept = list(episode.read(folder / "kept.jsonl"))
    assert len(kept) == 2
    assert episode.to_json(kept[0]) == json.loads(lines[0].splitlines()[-1])["episode"]


def test_a_kept_game_can_be_replayed(loquent, folder):
    first = loquent("play", "counting:Count", "--row", "r1", "--agent", "counting:Counter", "--save", "kept.jsonl", "--json")
    again = loquent("play", "counting:Count", "--row", "r1", "--agent", "kept.jsonl", "--json")
    assert again.returncode == 0, again.stderr
    said = [json.loads(done.stdout.splitlines()[-1])["episode"]["turns"] for done in (first, again)]
    assert said[0] == said[1]


def test_another_seed_is_another_game(loquent):
    rows = {
        json.loads(loquent("play", "counting:Count", "--agent", "expert", "--seed", str(seed), "--json").stdout.splitlines()[-1])["row"]
        for seed in range(6)
    }
    assert len(rows) > 1


def test_a_mistyped_row_names_the_place(loquent):
    done = loquent("play", "counting:Count", "--row", "r77")
    assert done.returncode == 2
    assert "r77" in done.stderr


def test_any_agent_is_evaluated_on_any_task(loquent):
    done = loquent("evaluate", "expert", "--task", "counting:Count", "--option", "rounds=2", "--split", "train", "--episodes", "10", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["values"]["return"] == 2.0
    assert found["n"] == 10
