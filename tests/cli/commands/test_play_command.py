"""Playing at the terminal, and watching."""

import json
import signal
import subprocess
from functools import partial

import pytest

from loquent.core import episode


def test_a_person_plays_to_the_end(loquent):
    done = loquent("play", "counting:Count", "--row", "r2", "--json", stdin="3\nseven\nseven\n5\n")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["ended"] == "done"
    assert found["rewards"] == {"right": 2.0}
    assert found["return"] == 2.0
    assert [turn["text"] for turn in found["episode"]["turns"] if turn["seat"] == "agent"] == [
        "3",
        "seven",
        "5",
    ]


def test_what_a_task_writes_cannot_move_the_cursor(loquent):
    done = loquent("play", "counting:Count", "--row", "r2", stdin="3\n4\n5\n")
    watched = loquent("play", "counting:Count", "--row", "r2", "--agent", "counting:Counter")
    for text in (done.stdout, watched.stdout):
        assert "after 2?" in text
        assert "\x1b" not in text
        assert "\\x1b[31m" in text


def test_the_end_of_input_ends_the_game_in_one_plain_sentence(loquent):
    done = loquent("play", "counting:Count", "--row", "r2", "--json", stdin="3\n")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "loquent: the game was left after 1 answer; --save FILE would have kept it\n"
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found["ended"], found["rewards"]) == (None, {"right": 1.0})


def test_a_game_that_is_left_is_kept_as_one_that_has_not_ended(loquent, folder):
    done = loquent("play", "counting:Count", "--row", "r2", "--save", "kept.jsonl", stdin="3\n4\n")
    assert done.returncode == 0
    assert "left after 2 answers; it is in kept.jsonl, as an unfinished episode" in done.stderr
    [kept] = episode.read(folder / "kept.jsonl")
    assert [turn.text for turn in kept.answers()] == ["3", "4"]
    assert (kept.ended, kept.bootstraps, dict(kept.rewards)) == (None, True, {"right": 2.0})
    done = loquent("play", "counting:Count", "--save", "none.jsonl", stdin="")
    assert "nothing was played" in done.stderr
    assert not (folder / "none.jsonl").exists()


def test_a_game_left_by_ctrl_c_is_kept_too(command, folder):
    line = command("play", "counting:Count", "--row", "r2", "--save", "kept.jsonl")
    game = subprocess.Popen(
        line,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.default_int_handler),
    )
    game.stdin.write(b"3\n")
    game.stdin.flush()
    shown = b""
    while shown.count(b"agent> ") < 2:
        shown += game.stdout.read1()
    game.send_signal(signal.SIGINT)
    game.wait(timeout=60)  # before its input is closed: the end of the input is another way to leave
    errors = game.communicate()[1]
    assert game.returncode == 130
    assert b"Traceback" not in errors
    assert [turn.text for turn in next(episode.read(folder / "kept.jsonl")).answers()] == ["3"]


@pytest.mark.parametrize("agent", ["expert", "random", "counting:Counter"])
def test_an_agent_is_watched_and_the_game_kept(loquent, folder, agent):
    lines = [
        loquent(
            "play",
            "counting:Count",
            "rounds=2",
            "--agent",
            agent,
            "--seed",
            "3",
            "--save",
            "kept.jsonl",
            "--json",
        ).stdout
        for _ in range(2)
    ]
    assert lines[0] == lines[1], "the same seed is the same game"
    kept = list(episode.read(folder / "kept.jsonl"))
    assert len(kept) == 2
    assert episode.to_json(kept[0]) == json.loads(lines[0].splitlines()[-1])["episode"]


def test_a_kept_game_can_be_replayed(loquent, folder):
    first = loquent(
        "play",
        "counting:Count",
        "--row",
        "r1",
        "--agent",
        "counting:Counter",
        "--save",
        "kept.jsonl",
        "--json",
    )
    again = loquent("play", "counting:Count", "--row", "r1", "--agent", "kept.jsonl", "--json")
    assert again.returncode == 0, again.stderr
    said = [json.loads(done.stdout.splitlines()[-1])["episode"]["turns"] for done in (first, again)]
    assert said[0] == said[1]


def test_a_recorded_game_is_shown_again(loquent, folder, tmp_path):
    loquent(
        "collect",
        "counting:Count",
        "rounds=2",
        "--agent",
        "counting:Counter",
        "--episodes",
        "12",
        "--seed",
        "5",
        "--out",
        "kept",
    )
    kept = list(episode.read(folder / "kept" / "episodes.jsonl"))
    shown = loquent(
        "play", "counting:Count", "rounds=2", "--replay", "kept/episodes.jsonl", "--game", "8", "--json"
    )
    assert shown.returncode == 0, shown.stderr
    assert json.loads(shown.stdout.splitlines()[-1])["episode"] == episode.to_json(kept[7])
    for turn in kept[7].answers():
        assert f"agent: {turn.text}\n" in shown.stdout
    wrong = [
        (["rounds=2", "--game", "13"], "kept/episodes.jsonl has no game 13; --game counts from 1"),
        (["rounds=3"], "was played on count-v1#"),
        (["rounds=2", "--agent", "expert"], "leave out --agent"),
    ]
    for words, says in wrong:
        done = loquent("play", "counting:Count", "--replay", "kept/episodes.jsonl", *words)
        assert done.returncode == 2
        assert says in done.stderr


def test_a_record_that_is_not_true_is_told(loquent, folder):
    loquent("play", "counting:Count", "--agent", "expert", "--row", "r2", "--save", "kept.jsonl")
    text = (folder / "kept.jsonl").read_text()
    (folder / "kept.jsonl").write_text(text.replace('"right": 1.0', '"right": 0.0', 1))
    done = loquent("play", "counting:Count", "--replay", "kept.jsonl")
    assert done.returncode == 1
    assert "the record of game 1 in kept.jsonl differs from the game as it is played" in done.stderr


def test_wordle_is_played_with_hints_and_watched_in_colours(loquent):
    done = loquent("play", "wordle", "--row", "train:steel", stdin="?\nspeed\nnope\nsteel\n")
    assert done.returncode == 0, done.stderr
    assert "(? plays the hint)> hint: " in done.stdout
    assert "not five letters a-z: 'nope'; once more" in done.stdout
    assert done.stdout.endswith(
        "The game ended: solved. Rewards: guess -2.\nWhat was right: steel\nReturn: -2.\n"
    )
    line = ("play", "wordle", "--row", "train:steel", "--agent", "wordle/optimal")
    plain, coloured = loquent(*line), loquent(*line, FORCE_COLOR="1")
    assert "\x1b" not in plain.stdout
    assert "\x1b[1;30;42m S \x1b[0m\x1b[1;30;42m T \x1b[0m" in coloured.stdout


def test_another_seed_is_another_game(loquent):
    rows = {
        json.loads(
            loquent(
                "play", "counting:Count", "--agent", "expert", "--seed", str(seed), "--json"
            ).stdout.splitlines()[-1]
        )["row"]
        for seed in range(6)
    }
    assert len(rows) > 1


def test_a_mistyped_row_names_the_place(loquent):
    done = loquent("play", "counting:Count", "--row", "r77")
    assert done.returncode == 2
    assert "r77" in done.stderr


def test_the_end_of_input_in_an_evaluation_is_explained(loquent):
    done = loquent(
        "evaluate", "human", "--task", "counting:Count", "--split", "train", "--episodes", "2", stdin="3\n"
    )
    why = "loquent: the input ended before loquent evaluate had played all its games, so there is no result\n"
    assert (done.returncode, done.stderr) == (130, why)
    assert "r0" not in done.stdout


def test_any_agent_is_evaluated_on_any_task(loquent):
    done = loquent(
        "evaluate",
        "expert",
        "--task",
        "counting:Count",
        "--option",
        "rounds=2",
        "--split",
        "train",
        "--episodes",
        "10",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["values"]["return"] == 2.0
    assert found["n"] == 10
