"""Every public function names an argument of another kind, and says what it must be."""

import math
from pathlib import Path

import gymnasium
import pytest

import loquent
import loquent.training.run
from loquent.cli import main as cli
from loquent.errors import LoquentError
from loquent.files import atomic

ODD = [None, 5, -1, lambda: None, "", "nope", math.nan, b"wordle", ["q"], {}]
RECIPE = """
task: {kind: wordle, limit: 4}
model: {layers: 1, width: 32, heads: 2, vocabulary: 300, tokenizer_texts: 20, context: 128}
metrics: {}
decoding: {max_new_tokens: 2}
algorithm: {kind: ppo, minibatch: 2, epochs: 1}
training: {updates: 1, episodes: 2, evaluate_every: 0, final_episodes: 2}
"""


def refused(call, *given, **named):
    with pytest.raises(LoquentError) as error:
        call(*given, **named)
    return str(error.value)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small run that has ended."""
    folder = tmp_path_factory.mktemp("face")
    atomic.write_text(folder / "small.yaml", RECIPE)
    return loquent.train(folder / "small.yaml", folder / "run", progress=False)


WORDLE = loquent.task("wordle")
CALLS = {  # an argument by its name, a call of which it is the argument, and the odd values that are right
    "task: task": (loquent.task, ()),
    "task: play": (lambda odd: loquent.play(odd, "random"), ()),
    "agent: play": (lambda odd: loquent.play("wordle", odd), ()),
    "agent: in a mapping": (lambda odd: loquent.play("wordle", {"agent": odd}), ()),
    "episodes: play": (lambda odd: loquent.play("wordle", "random", episodes=odd), (5,)),
    "split: play": (lambda odd: loquent.play("wordle", "random", split=odd), ()),
    "seed: play": (lambda odd: loquent.play("wordle", "random", seed=odd), (5,)),
    "seat: learning": (lambda odd: loquent.play("wordle", "random", learning=odd), ()),
    "task: check": (loquent.check, ()),
    "episodes: check": (lambda odd: loquent.check("wordle", episodes=odd), (5,)),
    "run: load_run": (loquent.load_run, ()),
    "run: evaluate": (loquent.evaluate, ()),
    "task: evaluate": (lambda odd: loquent.evaluate("random", task=odd, episodes=1), (None,)),
    "agent: evaluate": (lambda odd: loquent.evaluate(odd, task="wordle", episodes=1), ()),
    **{
        f"{name}: evaluate": (
            lambda odd, name=name: loquent.evaluate("random", task="wordle", **{name: odd}),
            (5,),
        )
        for name in ("episodes", "seed")
    },
    "split: evaluate": (lambda odd: loquent.evaluate("random", task="wordle", split=odd), ()),
    "recipe": (lambda odd: loquent.train(odd, "out", profile="smoke"), ()),
    "out": (lambda odd: loquent.train("reviews_ppo", odd, ["nothing=1"]), ("", "nope")),
    "override": (lambda odd: loquent.train("reviews_ppo", "out", odd), ({}, "")),
    "override: one of a list": (lambda odd: loquent.train("reviews_ppo", "out", [odd]), ()),
    "profile": (
        lambda odd: loquent.train("reviews_ppo", "out", ["training.updates=x"], profile=odd),
        (None,),
    ),
    "split: rows": (WORDLE.rows, ()),
    "split: row": (lambda odd: WORDLE.row(odd, "a"), ()),
    "row": (lambda odd: WORDLE.row("train", odd), ()),
    "row: start": (lambda odd: WORDLE.start(odd, loquent.Key(0)), ()),
    "step": (lambda odd: WORDLE.act(odd, "crane"), ()),
    "seed: Key": (loquent.Key, (5,)),
    "texts": (loquent.Texts, ("", "nope", ["q"], {})),
    "size": (loquent.Slots, (5, -1)),
    "num_envs": (lambda odd: gymnasium.make_vec("loquent/Blocks-v0", num_envs=odd), (5,)),
    "task: gymnasium": (lambda odd: gymnasium.make("loquent/Task-v0", task=odd), ()),
}
OF_RUN = {
    "key": (lambda run: run.plot, ([],)),
    "path: plot": (lambda run: run.plot("rollout/return").save, ("nope",)),
    "path: report": (lambda run: run.report, (None, "nope")),
    "split: episodes": (lambda run: run.episodes, (None,)),
    "update": (lambda run: lambda odd: run.episodes(update=odd), (None,)),
    "max_new_tokens": (lambda run: lambda odd: run.agent(max_new_tokens=odd), (5,)),
    "evaluation": (lambda run: lambda odd: run.agent(nothing=odd), ()),
    "override: evaluate": (lambda run: lambda odd: run.evaluate(overrides=odd), ("",)),
    "override: replace": (lambda run: run.recipe.replace, ()),
}


def check(argument, call, right):
    word = argument.partition(":")[0]
    for odd in ODD:
        if not any(odd is one or (type(odd) is type(one) and odd == one) for one in right):
            assert word in refused(call, odd).lower(), odd


@pytest.mark.parametrize("argument", CALLS)
def test_an_odd_argument_is_a_typed_error_that_names_it(argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(argument, *CALLS[argument])


@pytest.mark.parametrize("argument", OF_RUN)
def test_an_odd_argument_of_a_run_is_too(argument, run, tmp_path, monkeypatch):
    method, right = OF_RUN[argument]
    owner = loquent.load_run(run.folder.resolve())
    monkeypatch.chdir(tmp_path)
    check(argument, method(owner), right)


def test_an_agent_of_another_kind_is_named():
    assert "agents = 5 is an int; it must be an Agent, the name of one" in refused(loquent.play, "wordle", 5)


def test_a_mapping_may_name_agents_and_a_seat_that_nobody_has_is_refused():
    [episode] = loquent.play("wordle", {"agent": "random"})
    assert episode.turns
    assert "'x'" in refused(loquent.play, "wordle", "random", learning="x")


def test_an_agent_is_evaluated_on_a_task_as_on_the_command_line(run, tmp_path, capsys):
    assert "is an agent, and no task is named" in refused(loquent.evaluate, "expert")
    settings = {"task": "wordle", "episodes": 3, "seed": 1}
    by_name = loquent.evaluate("expert", **settings)
    made = loquent.evaluate(loquent.core.agent.make("expert", WORDLE), **settings)
    assert by_name.as_json() == made.as_json()
    line = ["evaluate", "expert", "--task", "wordle", "--episodes", "3", "--seed", "1", "--json"]
    assert cli.main(line) == 0
    assert f'"return": {by_name.values["return"]}' in capsys.readouterr().out
    assert loquent.evaluate(run, task="wordle", episodes=2).n == 2


def test_a_path_is_taken_as_an_option(tmp_path):
    (tmp_path / "words.txt").write_text("crane\n")
    assert loquent.task("wordle", words=Path(tmp_path / "words.txt")).rows("train")[0]["secret"] == "crane"


@pytest.mark.parametrize(
    "name", ["os:system", "sys:exit", "math:pi", "builtins:print", "pathlib:Path", "json:dumps"]
)
def test_a_name_that_makes_no_metric_is_refused_in_words(name, tmp_path, capsys):
    (tmp_path / "said.txt").write_text("a text\n")
    assert cli.main(["score", "--metrics", name, str(tmp_path / "said.txt")]) == 2
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "no metric" in said or "BrokenMetric" in said


@pytest.mark.parametrize("number", [-2, 0])
def test_a_number_of_environments_that_is_no_count_is_refused(number):
    with pytest.raises(LoquentError, match="num_envs"):
        gymnasium.make_vec("loquent/Blocks-v0", num_envs=number)


SINGLE = "overrides = 'training.updates=1' is a str; give a list of texts, such as ['training.updates=2']"


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ("training.updates=1", SINGLE),
        (None, "overrides is None; give a list"),
        ([5], "an override = 5 is an int"),
    ],
)
def test_overrides_are_a_list(overrides, says, tmp_path):
    for recipe in ("reviews_ppo", loquent.training.recipes.load("reviews_ppo", profile="smoke")):
        assert says in refused(loquent.train, recipe, tmp_path / "run", overrides)
    assert says in refused(loquent.training.recipes.load, "reviews_ppo", overrides)


@pytest.mark.parametrize("out", ["first.py", "first.py/run"])
def test_a_run_is_not_written_to_a_file(out, tmp_path):
    (tmp_path / "first.py").write_text("x = 1")
    why = refused(loquent.train, "reviews_ppo", tmp_path / out, profile="smoke", progress=False)
    assert why.startswith(
        f"{tmp_path / 'first.py'} is a file, so no run can be written to {tmp_path / out}; name"
    )
    assert (tmp_path / "first.py").read_text() == "x = 1"


def test_none_is_none_only_once():
    assert refused(loquent.task, None).startswith("task is None; it must be")


@pytest.mark.parametrize("keys", [None, [], [5], 5])
def test_a_plot_needs_keys(keys, tmp_path):
    run = loquent.training.run.Run(tmp_path)
    assert "a logged key, or a list" in refused(run.plot, keys)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: loquent.training.recipes.load("reviews_ppo", ["algorithm.kind=reinforce"]),
            "an algorithm of your own as module:Name",
        ),
        (lambda: loquent.training.recipes.load("reviews_ppq"), "more. `loquent list recipes` shows all"),
        (
            lambda: loquent.play("wordle", "nobody"),
            "`loquent list agents` shows all. Name an agent of your own",
        ),
        (lambda: loquent.task("wordel"), "Name a task of your own as module:Name"),
    ],
)
def test_an_unknown_name_says_where_all_are_and_how_your_own_is_named(call, says):
    assert says in refused(call)
