"""Text generation: cutting, options, ends, and the recorded games."""

import json
import subprocess
import sys
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core import episode
from loquent.core.rollout.loop import replay
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record, problem
from loquent.errors import BadRow, BadSetting, EpisodeOver, UnknownName
from loquent.tasks.generation.rows import Options, cut
from loquent.tasks.generation.task import Generation


def start(task, split="test", number=0):
    return task.start(task.rows(split)[number], Key(0))


def test_a_text_is_cut_between_words_and_loses_nothing():
    # five words: floor(5 / 2) = 2 come first (spec E6)
    assert cut("one  two\tthree four five ", 2) == ("one  two", "\tthree four five ")
    for words in (0, 5, 6):
        with pytest.raises(ValueError, match="cannot be cut"):
            cut("one two three four five", words)


@given(st.text(max_size=60), st.integers(-1, 8))
def test_prompt_and_reference_make_the_text(text, words):
    try:
        prompt, rest = cut(text, words)
    except ValueError:
        return
    assert prompt + rest == text
    assert len(prompt.split()) == words
    assert rest.strip()


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_rows_of_the_built_in_reviews(split):
    for row in Generation().rows(split)[:200]:
        (reference,) = row["references"]
        assert row["prompt"] + reference == row["text"]
        assert reference.startswith(" ")
        assert len(row["prompt"].split()) == len(row["text"].split()) // 2
        assert row["label"] in ("positive", "negative")
        assert problem(row.fields) is None


def test_prompts_are_disjoint_between_splits():
    prompts = {
        split: {row["prompt"] for row in Generation().rows(split)}
        for split in ("train", "validation", "test")
    }
    assert {split: len(found) for split, found in prompts.items()} == {
        "train": 20_000,
        "validation": 2_000,
        "test": 2_000,
    }
    assert not prompts["train"] & prompts["test"]
    assert not prompts["train"] & prompts["validation"]
    assert not prompts["validation"] & prompts["test"]
    three = {
        split: {row["prompt"] for row in Generation(Options(prompt_words=3)).rows(split)}
        for split in ("train", "test")
    }
    assert three["train"] & three["test"]  # it can fail: three words are no prompt of their own


def test_the_prompt_can_be_counted_in_words():
    assert {
        len(row["prompt"].split()) for row in Generation(Options(prompt_words=12, limit=50)).rows("train")
    } == {12}
    thirds = Generation(Options(prompt_fraction=0.25, limit=50)).rows("train")
    assert all(len(row["prompt"].split()) == len(row["text"].split()) // 4 for row in thirds)


def test_the_game_is_one_answer():
    task = Generation()
    step = start(task)
    row = task.rows("test")[0]
    assert step.observation.text == row["prompt"]
    assert task.expert(step.state) == row["references"][0]
    ended = task.act(step, " so it was .")
    assert (ended.ended, ended.rewards, ended.observation.text, ended.turn) == ("end", Record(), "", 1)
    assert ended.observation.fields == Record(prompt=row["prompt"], answer=" so it was .")
    assert ended == task.act(step, " so it was .")
    assert problem(ended.state) is None
    with pytest.raises(EpisodeOver):
        task.act(ended, "more")


@pytest.mark.parametrize(
    ("horizon", "stopped", "text", "ended", "flags"),
    [
        ("cut", "end", "a b", "end", (True, False)),
        ("cut", "stop", "a b", "end", (True, False)),
        ("cut", "length", "a b", "cut", (False, True)),
        ("cut", "end", "a b c d", "length", (True, False)),
        ("cut", "length", "a b c d", "cut", (False, True)),
        ("terminal", "length", "a b", "end", (True, False)),
        ("terminal", "length", "a b c d", "length", (True, False)),
    ],
)
def test_how_a_game_ends(horizon, stopped, text, ended, flags):
    task = Generation(Options(horizon=horizon, max_words=3))
    assert task.spec.horizon == {"cut": "cut", "terminal": "end"}[horizon]
    step = task.act(start(task), text, stopped)
    assert (step.ended, task.flags(step.ended)) == (ended, flags)


@pytest.mark.parametrize("text", ["", "\x00", "\ud800 lone", "<|end|> <s> </a>", "x " * 500_000, "\u2028🙂"])
def test_no_text_raises(text):
    step = Generation().act(start(Generation()), text)
    assert step.ended == "end"
    assert step.state.answer == text


def test_long_texts_become_pieces(tmp_path):
    texts = [("a b c d e f g", 1), ("h i j", 0)]
    (tmp_path / "train.jsonl").write_text(
        "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in texts)
    )
    task = Generation(Options(source="path", path=str(tmp_path), text_words=3, prompt_words=2))
    rows = task.rows("train")
    # a b c | d e f | g, and g alone is too short for a prompt of two words
    assert sorted(row["text"] for row in rows) == ["a b c", "d e f", "h i j"]
    assert {row["text"]: row["label"] for row in rows} == {"a b c": 1, "d e f": 1, "h i j": 0}
    assert all(row["prompt"] + row["references"][0] == row["text"] for row in rows)
    assert len({row.id for row in rows}) == 3


def test_a_limit_takes_a_fixed_part():
    ten, twenty = (Generation(Options(limit=limit)).rows("train") for limit in (10, 20))
    assert (len(ten), len(twenty)) == (10, 20)
    assert {row.id for row in ten} < {row.id for row in twenty}
    assert [row.id for row in ten] != [f"train-{i}" for i in range(10)]


def test_pairs_are_taken_as_they_are(tmp_path):
    rows = [
        {"prompt": "add 1 2", "references": [" 3", " three"], "level": 1},
        {"prompt": "add 2 2", "references": " 4", "level": 2},
    ]
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 3))
    task = Generation(Options(source="path", path=str(tmp_path)))
    row = task.rows("train")[0]
    assert dict(row.fields) == {
        "prompt": "add 1 2",
        "references": (" 3", " three"),
        "level": 1,
        "text": "add 1 2 3",
        "label": None,
    }
    assert task.expert(task.start(row, Key(0)).state) == " 3"
    with pytest.raises(UnknownName, match=r"no split of the source path .* 'test'.*Known: train, validation"):
        task.rows("test")


def test_a_text_too_short_for_its_prompt_is_named(tmp_path):
    (tmp_path / "train.txt").write_text("one two three four\none\n" + "five six seven\n" * 8)
    with pytest.raises(BadRow, match=r"row train-2: a text of 1 words cannot be cut"):
        [
            Generation(Options(source="path", path=str(tmp_path))).rows(split)
            for split in ("train", "validation")
        ]


def test_rows_from_outside_a_source_are_played_too():
    task = Generation()
    step = task.start(Row("added:1", Record(prompt="once")), Key(0))
    assert task.expert(step.state) is None
    assert task.act(step, " upon").ended == "end"


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt_fraction": 1.5},
        {"prompt_words": -1},
        {"horizon": "never"},
        {"source": "hub", "name": "x/y"},
        {"path": "x"},
    ],
)
def test_bad_options_are_refused_when_made(fields):
    with pytest.raises(BadSetting):
        Options(**fields)


def test_the_identity_follows_the_options():
    assert Generation().identity == "generation-v1"
    assert (
        len(
            {
                Generation(Options(**fields)).identity
                for fields in ({}, {"horizon": "terminal"}, {"prompt_words": 9}, {"limit": 5})
            }
        )
        == 4
    )


def test_recorded_games_are_played_again_and_found_equal():
    task = Generation()
    with files("loquent.tasks.generation").joinpath("golden.jsonl").open(encoding="utf-8") as file:
        recorded = [episode.from_json(json.loads(line)) for line in file]
    assert len(recorded) == 20
    assert {game.ended for game in recorded} == {"end", "cut"}
    for game in recorded:
        assert replay(task, game) == game
        assert game.task == task.identity
    terminal = Generation(Options(horizon="terminal"))
    assert replay(terminal, recorded[2]) != recorded[2]  # it can fail: a cut game is not cut there


@pytest.mark.data
def test_the_real_reviews_are_a_task(beside):
    task = Generation(
        Options(source="path", path=str(beside / "data" / "imdb_movie_reviews"), prompt_words=20)
    )
    assert [len(task.rows(split)) for split in task.spec.splits] == [600, 200, 200]
    assert all(row["prompt"] + row["references"][0] == row["text"] for row in task.rows("test"))
    # too short for 20 words: cut by half
    short = next(row for row in task.rows("validation") if len(row["text"].split()) == 17)
    assert len(short["prompt"].split()) == 8


def test_the_task_loads_no_torch():
    script = "import sys, loquent.tasks.generation.task as t; t.Generation().rows('test'); "
    script += "print([name for name in ('torch', 'sklearn', 'datasets') if name in sys.modules])"
    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )
