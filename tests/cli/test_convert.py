"""`loquent convert`: forms, shares and kinds on the command line."""

import json

import pytest

from loquent import cli
from loquent.data.episodes import read, write
from loquent.episode import Episode, Turn
from loquent.values import Record


def game(number, value, kind, task="wordle-v1#0123abcd"):
    turns = (Turn("task", "", to="agent"), Turn("agent", "crane", rewards=Record(guess=value)), Turn("task", "bbbbb\n", to="agent"))
    return Episode(task, "train:crane", "train", 0, number, turns, "solved", meta=Record(kind=kind))


GAMES = [game(i, -float(i), "expert" if i % 2 else "suboptimal") for i in range(10)]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("games.jsonl", GAMES, "jsonl", Record())


def converted(*words):
    assert cli.main(["convert", *words]) == 0
    return words[1]


def test_round_trip_through_every_form_is_the_same_file(tmp_path, capsys):
    converted("games.jsonl", "a.parquet")
    converted("a.parquet", "b", "--to", "datasets")
    converted("b", "c-v0", "--to", "minari")
    converted("c-v0", "d.jsonl")
    assert (tmp_path / "d.jsonl").read_bytes() == (tmp_path / "games.jsonl").read_bytes()
    assert "10 of 10 episodes of wordle-v1#0123abcd in d.jsonl (jsonl)" in capsys.readouterr().out


def test_a_part_is_kept(capsys):
    best = converted("games.jsonl", "best.jsonl", "--top", "0.2", "--json")
    assert [one.number for one in read(best)] == [0, 1]
    said = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert said == {"source": "games.jsonl", "target": "best.jsonl", "form": "jsonl", "read": 10, "episodes": 2}
    assert [one.number for one in read(converted("games.jsonl", "worst.jsonl", "--bottom", "0.2"))] == [8, 9]
    assert [one.number for one in read(converted("games.jsonl", "both.jsonl", "--bottom", "0.5", "--top", "0.4"))] == [5, 6]
    assert [one.number for one in read(converted("games.jsonl", "experts.jsonl", "--kind", "expert", "--top", "0.4"))] == [1, 3]
    assert [one.number for one in read(converted("games.jsonl", "turned.jsonl", "--top", "0.1", "--weight", "guess=-1"))] == [9]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["games.jsonl", "x"], "--to jsonl, --to parquet, --to datasets, --to minari"),
        (["games.jsonl", "x.csv"], "--to jsonl"),
        (["none.jsonl", "x.jsonl"], "there is no such file"),
        (["games.jsonl", "games.jsonl"], "exists already"),
        (["games.jsonl", "no/where.jsonl", "--top", "0.01"], "top = 0.01 of 10 episodes keeps none"),
        (["games.jsonl", "x.jsonl", "--kind", "adversarial"], "none of 10 episodes is of kind adversarial; there are 'expert', 'suboptimal'"),
        (["games.jsonl", "x.jsonl", "--top", "0.5", "--weight", "guess"], "--weight guess: NAME=NUMBER is right"),
        (["games.jsonl", "x.jsonl", "--top", "0.5", "--weight", "guess=nan"], "NAME=NUMBER"),
        (["games.jsonl", "x.jsonl", "--top", "0.5", "--weight", "gess=1"], "no episode has a reward of that name. Nearest: guess. Known: guess"),
        (["games.jsonl", "x", "--to", "minari"], "named like wordle-v0"),
    ],
)
def test_what_cannot_be_done_is_told(words, says, capsys, tmp_path):
    assert cli.main(["convert", *words]) == 2
    assert says in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["games.jsonl"]


@pytest.mark.parametrize("share", ["0", "-1", "1.5", "nan", "half"])
def test_what_is_no_share_is_refused(share, capsys):
    with pytest.raises(SystemExit):
        cli.main(["convert", "games.jsonl", "x.jsonl", f"--top={share}"])
    assert "is not a share in (0, 1]" in capsys.readouterr().err


def test_returns_of_two_tasks_are_not_ranked_together(capsys):
    write("two.jsonl", [game(i, 0.0, "expert", task) for i, task in enumerate(("wordle-v1", "generation-v1") * 2)], "jsonl", Record())
    assert cli.main(["convert", "two.jsonl", "x.jsonl", "--top", "0.5", "--weight", "guess=1"]) == 2
    assert "generation-v1, wordle-v1: returns of several tasks cannot be ranked together" in capsys.readouterr().err
    assert cli.main(["convert", "two.jsonl", "x.jsonl"]) == 0


@pytest.mark.parametrize("tasks", [("mine-v1",), ("generation-v1",)])
def test_returns_need_weights_where_the_task_does_not_say_them(tasks, capsys):
    write("other.jsonl", [game(i, 0.0, "expert", task) for i, task in enumerate(tasks * 2)], "jsonl", Record())
    assert cli.main(["convert", "other.jsonl", "x.jsonl", "--top", "0.5"]) == 2
    assert "need the weights of rewards: --weight NAME=NUMBER" in capsys.readouterr().err
    assert cli.main(["convert", "other.jsonl", "x.jsonl", "--top", "0.5", "--weight", "guess=1"]) == 0
