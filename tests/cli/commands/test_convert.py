"""`loquent convert`: forms, shares and kinds on the command line."""

import json
import sys

import pytest

import loquent
from loquent.cli import main as cli
from loquent.core import registry
from loquent.core.episode import Episode, Turn
from loquent.core.values import Record
from loquent.data.episodes import read, write


def game(number, value, kind, task="wordle-v1#0123abcd"):
    turns = (
        Turn("task", "", to="agent"),
        Turn("agent", "crane", rewards=Record(guess=value)),
        Turn("task", "bbbbb\n", to="agent"),
    )
    return Episode(task, "train:crane", "train", 0, number, turns, "solved", meta=Record(kind=kind))


OWN = """
from loquent import Observation, Opening, Outcome, Record, Row, Task, TaskSpec


class Mine(Task):
    spec = TaskSpec(id="mine", rewards=Record(cost=-1.0), turn_limit=1)

    def rows(self, split):
        return [Row(str(n), Record(n=n)) for n in range(3)]

    def first(self, row, rng):
        return Opening(row["n"], Observation("say"))

    def read(self, state, text):
        return text

    def play(self, state, move):
        return Outcome(state, Observation(""), Record(cost=float(state)), "said")
"""
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
    assert said == {
        "source": "games.jsonl",
        "target": "best.jsonl",
        "form": "jsonl",
        "read": 10,
        "episodes": 2,
    }
    assert [one.number for one in read(converted("games.jsonl", "worst.jsonl", "--bottom", "0.2"))] == [8, 9]
    assert [
        one.number for one in read(converted("games.jsonl", "both.jsonl", "--bottom", "0.5", "--top", "0.4"))
    ] == [5, 6]
    assert [
        one.number
        for one in read(converted("games.jsonl", "experts.jsonl", "--kind", "expert", "--top", "0.4"))
    ] == [1, 3]
    assert [
        one.number
        for one in read(converted("games.jsonl", "turned.jsonl", "--top", "0.1", "--weight", "guess=-1"))
    ] == [9]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["games.jsonl", "x"], "--to jsonl, --to parquet, --to datasets, --to minari"),
        (["games.jsonl", "x.csv"], "--to jsonl"),
        (["none.jsonl", "x.jsonl"], "there is no such file"),
        (["games.jsonl", "games.jsonl"], "exists already"),
        (["games.jsonl", "no/where.jsonl", "--top", "0.01"], "top = 0.01 of 10 episodes keeps none"),
        (
            ["games.jsonl", "x.jsonl", "--kind", "adversarial"],
            "none of 10 episodes is of kind adversarial; the dataset has the kinds: 'expert', 'suboptimal'",
        ),
        (
            ["games.jsonl", "x.jsonl", "--top", "0.5", "--weight", "guess"],
            "--weight guess is not of the form NAME=NUMBER with a finite number",
        ),
        (["games.jsonl", "x.jsonl", "--top", "0.5", "--weight", "guess=nan"], "NAME=NUMBER"),
        (
            ["games.jsonl", "x.jsonl", "--top", "0.5", "--weight", "gess=1"],
            "no episode has a reward of that name. Nearest: guess. Known: guess",
        ),
        (["games.jsonl", "x", "--to", "minari"], "as in wordle-v0"),
        (["games.jsonl", "x.jsonl", "--top", "0"], "the share of episodes is 0.0; it must be greater than 0"),
    ],
)
def test_what_cannot_be_done_is_told(words, says, capsys, tmp_path):
    assert cli.main(["convert", *words]) == 2
    assert says in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["games.jsonl"]


@pytest.mark.parametrize(
    ("share", "says"),
    [
        ("-1", "must be in [0, 1], got -1"),
        ("1.5", "must be in [0, 1], got 1.5"),
        ("nan", "must be"),
        ("half", "must be a number, in [0, 1], got 'half'"),
    ],
)
def test_what_is_no_share_is_refused(share, says, capsys):
    with pytest.raises(SystemExit):
        cli.main(["convert", "games.jsonl", "x.jsonl", f"--top={share}"])
    assert f"--top {says}" in capsys.readouterr().err


def test_returns_of_two_tasks_are_not_ranked_together(capsys):
    write(
        "two.jsonl",
        [game(i, 0.0, "expert", task) for i, task in enumerate(("wordle-v1", "generation-v1") * 2)],
        "jsonl",
        Record(),
    )
    assert cli.main(["convert", "two.jsonl", "x.jsonl", "--top", "0.5", "--weight", "guess=1"]) == 2
    assert (
        "generation-v1, wordle-v1: returns of several tasks cannot be ranked together"
        in capsys.readouterr().err
    )
    assert cli.main(["convert", "two.jsonl", "x.jsonl"]) == 0


@pytest.mark.parametrize("tasks", [("mine-v1",), ("generation-v1",)])
def test_returns_need_weights_where_the_task_does_not_say_them(tasks, capsys):
    write(
        "other.jsonl", [game(i, 0.0, "expert", task) for i, task in enumerate(tasks * 2)], "jsonl", Record()
    )
    assert cli.main(["convert", "other.jsonl", "x.jsonl", "--top", "0.5"]) == 2
    assert "as in --weight guess=1; rewards of these episodes: guess" in capsys.readouterr().err
    assert cli.main(["convert", "other.jsonl", "x.jsonl", "--top", "0.5", "--weight", "guess=1"]) == 0


# text generation has the rewards of a run alone
REWARDED = sorted(set(registry.names("task")) - {"generation"})


@pytest.mark.sweep("blocks", "dialogue", "multilabel", "multiple_choice", "reading", "tagging", "wordle")
@pytest.mark.parametrize("task", REWARDED)
def test_every_task_has_its_own_weights(task):
    assert (
        cli.main(
            [
                "collect",
                task,
                "--agent",
                {"wordle": "expert", "comments": "comments/recorded"}.get(task, "random"),
                "--episodes",
                "8",
                "--out",
                "some",
                "--processes",
                "1",
            ]
        )
        == 0
    )
    own = loquent.task(task)
    returns = sorted((one.total(own.spec.rewards) for one in read("some")), reverse=True)
    assert returns[0] > returns[-1], "or the order would prove nothing"
    best = [one.total(own.spec.rewards) for one in read(converted("some", "best.jsonl", "--top", "0.5"))]
    assert sorted(best, reverse=True) == returns[:4]
    converted("some", f"{task.replace('_', '-')}-v0", "--to", "minari")


def test_a_collection_says_the_weights_of_a_task_that_is_not_registered(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.py").write_text(OWN)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    collect = [
        "collect",
        "mine:Mine",
        "--agent",
        "random",
        "--episodes",
        "3",
        "--out",
        "some",
        "--processes",
        "1",
    ]
    assert cli.main(collect) == 0
    assert cli.main(collect) == 0, "and it is known again"
    assert [one.row for one in read(converted("some", "best.jsonl", "--top", "0.4"))] == ["0"], (
        "less of the cost is better"
    )
    plan = json.loads((tmp_path / "some" / "collect.json").read_text())
    (tmp_path / "some" / "collect.json").write_text(json.dumps({**plan, "weights": {"cost": "much"}}))
    assert cli.main(["convert", "some", "x.jsonl", "--top", "0.5"]) == 2
    assert "weights.cost: the weight must be a finite number, got 'much'" in capsys.readouterr().err
    (tmp_path / "some" / "collect.json").write_text(json.dumps({**plan, "identity": "other-v1"}))
    assert cli.main(["convert", "some", "x.jsonl", "--top", "0.5"]) == 2, "they are of another task"


@pytest.mark.parametrize("folder", ["collection", "run"])
def test_the_options_beside_the_episodes_choose_the_reward(folder, tmp_path, capsys):
    pair = [
        Turn("agent", "O", rewards=Record(token_f1=token, span_f1=span))
        for token, span in ((1.0, 0.0), (0.0, 1.0))
    ]
    identity = loquent.task("tagging", reward="span_f1").identity
    (tmp_path / "some").mkdir()
    write(
        "some/episodes.jsonl",
        [Episode(identity, "train-0", "train", 0, i, (turn,), "tagged") for i, turn in enumerate(pair)],
        "jsonl",
        Record(),
    )
    assert cli.main(["convert", "some", "x.jsonl", "--top", "0.5"]) == 2, (
        "nothing says which of the two counts"
    )
    assert "as in --weight span_f1=1; rewards of these episodes: span_f1, token_f1" in capsys.readouterr().err
    texts = {
        "collect.json": '{"task": "tagging", "options": ["reward=span_f1"]}',
        "config.yaml": "task: {kind: tagging, reward: span_f1}\nrewards: {}\n",
    }
    name = "collect.json" if folder == "collection" else "config.yaml"
    (tmp_path / "some" / name).write_text(texts[name])
    assert [one.number for one in read(converted("some", "best.jsonl", "--top", "0.5"))] == [1]


def test_the_weights_of_a_run_are_those_of_its_recipe(tmp_path):
    turns = [
        Turn("agent", "x", rewards=Record({"sentiment": 1.0 - i, "sentiment/raw": 5.0, "length": float(i)}))
        for i in range(2)
    ]
    (tmp_path / "run").mkdir()
    write(
        "run/episodes.jsonl",
        [Episode("generation-v1", "a", "test", 0, i, (turn,), "end") for i, turn in enumerate(turns)],
        "jsonl",
        Record(),
    )
    (tmp_path / "run" / "config.yaml").write_text(
        "task: {kind: generation}\nrewards: {sentiment: {weight: 1.0, key: x}, length: 3}\n"
    )
    assert [one.number for one in read(converted("run", "best.jsonl", "--top", "0.5"))] == [1]
    assert [one.number for one in read(converted("run/episodes.jsonl", "again.jsonl", "--top", "0.5"))] == [1]


@pytest.mark.parametrize(
    "rewards",
    [
        "[1]",
        "{sentiment: much}",
        "{sentiment: {weight: [1]}}",
        "{sentiment: .inf}",
        "{sentiment: true}",
        "{? [a] : 1}",
    ],
)
def test_weights_that_are_none_are_refused_with_their_place(rewards, tmp_path, capsys):
    (tmp_path / "run").mkdir()
    turn = Turn("agent", "x", rewards=Record(sentiment=1.0))
    write(
        "run/episodes.jsonl", [Episode("generation-v1", "a", "test", 0, 0, (turn,), "end")], "jsonl", Record()
    )
    (tmp_path / "run" / "config.yaml").write_text(f"task: generation\nrewards: {rewards}\n")
    assert cli.main(["convert", "run", "best.jsonl", "--top", "0.9"]) == 2
    assert "config.yaml:2" in capsys.readouterr().err


def test_episodes_without_a_reward_are_not_ranked(capsys):
    write(
        "plain.jsonl",
        [Episode("generation-v1", "a", "train", 0, i, (Turn("agent", "x"),), "end") for i in range(2)],
        "jsonl",
        Record(),
    )
    assert cli.main(["convert", "plain.jsonl", "x.jsonl", "--top", "0.5"]) == 2
    assert "plain.jsonl: no episode has a reward, so the episodes have no order" in capsys.readouterr().err
    converted("plain.jsonl", "generation-v0", "--to", "minari")


def test_no_code_is_imported_by_a_name_beside_the_episodes(tmp_path, monkeypatch):
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    turn = Turn("agent", "O", rewards=Record(custom=1.0))
    (tmp_path / "some").mkdir()
    write(
        "some/episodes.jsonl",
        [Episode("tagging-v1#0123abcd", "train-0", "train", 0, 0, (turn,), "tagged")],
        "jsonl",
        Record(),
    )
    (tmp_path / "some" / "collect.json").write_text('{"options": ["reward=evil:f"]}')
    assert cli.main(["convert", "some", "x.jsonl", "--top", "1", "--to", "jsonl", "--bottom", "0.5"]) == 2
    assert "evil" not in sys.modules
