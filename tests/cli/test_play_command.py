"""Playing at the terminal, and watching."""

import json

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
