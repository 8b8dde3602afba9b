"""Agents by name, with options: in Python, on the command line, and as the teacher of a recipe."""

import json
from dataclasses import dataclass

import pytest

import loquent
from loquent.cli import main as cli
from loquent.core import episode, registry
from loquent.core.agent import Answer, make
from loquent.core.settings import setting
from loquent.core.values import Record
from loquent.errors import BadSetting, UnknownName
from loquent.tasks.wordle.task import Wordle, WordleOptions
from loquent.training import recipes

TASK = Wordle(WordleOptions(limit=10))


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of the parrot."""

    says: str = setting("crane", "what it says")
    times: int = setting(1, "how often", low=1)


class Parrot:
    """Says one thing."""

    Options, name = Options, "parrot"

    def __init__(self, task, options):
        self.task, self.options = task, options

    def answer(self, asked):
        return [Answer(self.options.says * self.options.times) for _ in asked]


@pytest.fixture
def parrot(monkeypatch):
    monkeypatch.setitem(registry._names["agent"], "parrot", f"{__name__}:Parrot")


def test_options_are_filled_and_checked(parrot):
    assert make("parrot", TASK).options == Options()
    assert make("parrot", TASK, {"times": 2}).options == Options(times=2)
    assert make(Record(kind="parrot", says="slate"), TASK, {"times": 3}).options == Options(
        says="slate", times=3
    )
    assert make({"kind": f"{__name__}:Parrot", "times": 2}, TASK).options.times == 2
    assert make("parrot", TASK).task is TASK


@pytest.mark.parametrize(
    ("chosen", "options", "kind", "says"),
    [
        ("parot", {}, UnknownName, "Did you mean 'parrot'"),
        ("parrot", {"tims": 2}, BadSetting, "here: agent parrot has no setting 'tims'. Nearest: times"),
        ("parrot", {"times": 0}, BadSetting, "here: agent parrot.times must be at least 1, got 0"),
        (
            "parrot",
            {"times": "two"},
            BadSetting,
            "agent parrot.times must be an integer, at least 1, got 'two'",
        ),
        ("expert", {"times": 2}, BadSetting, "here: the agent expert has no options, got 'times'"),
        ("", {}, BadSetting, "here: '' does not name an agent"),
        ({"times": 2}, {}, BadSetting, "here: None does not name an agent"),
        ({"kind": 5}, {}, BadSetting, "here: 5 does not name an agent"),
        ("json:loads", {}, BadSetting, "which fails on a task (the JSON object must be str"),
        ("json:JSONDecoder", {}, BadSetting, "which makes no agent"),
        ("builtins:repr", {}, BadSetting, "which makes no agent"),
        ("reprlib:repr", {}, BadSetting, "which is not an agent"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(parrot, chosen, options, kind, says):
    with pytest.raises(kind) as error:
        make(chosen, TASK, options, "here")
    assert says in str(error.value)


def test_names_and_mappings_play(parrot):
    assert loquent.play(TASK, "parrot")[0].answers()[0].text == "crane"
    player = make(
        {
            "kind": "wordle/mixture",
            "first": {"kind": "wordle/random_mixture", "prob_smart": 1.0},
            "prob_first": 1.0,
        },
        TASK,
    )
    assert player.first.options.prob_smart == 1.0


def collected(out, *more):
    line = [
        "collect",
        "wordle",
        "limit=30",
        "--agent",
        "wordle/random_mixture",
        "--episodes",
        "70",
        "--out",
        str(out),
    ]
    assert cli.main([*line, *more]) == 0
    return [one.total(Record(guess=1.0)) for one in episode.read(out / "episodes.jsonl")]


def test_options_on_the_command_line(tmp_path, capsys):
    smart, dull = (
        collected(tmp_path / "a", "agent.prob_smart=1.0"),
        collected(tmp_path / "b", "--option", "agent.prob_smart=0.0"),
    )
    assert sum(smart) / 70 > sum(dull) / 70 + 2
    assert json.loads((tmp_path / "a" / "collect.json").read_text())["options"] == [
        "limit=30",
        "agent.prob_smart=1.0",
    ]
    assert (
        cli.main(
            [
                "collect",
                "wordle",
                "--agent",
                "wordle/random_mixture",
                "agent.prob_smart=2",
                "--episodes",
                "1",
                "--out",
                str(tmp_path / "c"),
            ]
        )
        == 2
    )
    assert (
        "command line: agent wordle/random_mixture.prob_smart must be in [0, 1], got 2.0"
        in capsys.readouterr().err
    )
    values = []
    for share in (0.0, 1.0):
        line = [
            "evaluate",
            "wordle/random_mixture",
            "--task",
            "wordle",
            "--option",
            "limit=30",
            "--option",
            f"agent.prob_smart={share}",
            "--json",
        ]
        assert cli.main([*line, "--episodes", "30"]) == 0
        values.append(json.loads(capsys.readouterr().out.splitlines()[-1])["values"]["return"])
    assert values[1] > values[0] + 2
    assert cli.main(["check", "wordle", "agent.prob_smart=1"]) == 2
    assert "'agent.prob_smart=1' is not of the form key=value" in capsys.readouterr().err


def test_an_option_of_a_folder_is_refused(tmp_path, capsys):
    (tmp_path / "kept.jsonl").write_text("")
    assert cli.main(["play", "wordle", "--agent", str(tmp_path / "kept.jsonl"), "agent.x=1"]) == 2
    assert "agent.x=1" in capsys.readouterr().err


def test_help_knows_the_options(capsys):
    assert cli.main(["help", "wordle/random_mixture"]) == 0
    assert (
        "agent.wordle/random_mixture.prob_smart (default 0.5, in [0, 1]): the probability"
        in capsys.readouterr().out
    )


def test_a_teacher_has_options():
    import yaml

    one = recipes.load("wordle_clone", ["training.teacher={kind: wordle/random_mixture, prob_smart: 0.25}"])
    assert one.training.teacher == Record(kind="wordle/random_mixture", prob_smart=0.25)
    again = recipes.load(
        "wordle_clone", ["training.teacher.kind=wordle/random_mixture", "training.teacher.prob_smart=0.25"]
    )
    assert again.fingerprint == one.fingerprint != recipes.load("wordle_clone").fingerprint
    assert yaml.safe_load(one.yaml())["training"]["teacher"] == {
        "kind": "wordle/random_mixture",
        "prob_smart": 0.25,
    }


def test_a_teacher_with_options_teaches(tmp_path):
    from loquent.training.trainer import Trainer

    small = ["model.layers=1", "model.width=16", "model.heads=2", "training.episodes=8", "task.limit=10"]
    trainer = Trainer(
        recipes.load(
            "wordle_clone", [*small, "training.teacher={kind: wordle/optimal, start: wordle/start_word}"]
        )
    )
    episodes = trainer.experience.collect()
    assert {one.agents["agent"] for one in episodes} == {"wordle/optimal"}
    assert all(one.ended == "solved" for one in episodes)
    wrong = Trainer(
        recipes.load("wordle_clone", [*small, "training.teacher={kind: wordle/optimal, strat: x}"])
    )
    with pytest.raises(
        BadSetting, match=r"training\.teacher: agent wordle/optimal has no setting 'strat'\. Nearest: start"
    ):
        wrong.experience.collect()
