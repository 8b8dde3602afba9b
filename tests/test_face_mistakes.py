"""Every public function names an argument of another kind, and says what it must be."""

import math
from pathlib import Path

import gymnasium
import pytest

import loquent
import loquent.training.run
from loquent.errors import LoquentError

ODD = [None, 5, lambda: None, math.nan, b"wordle", ("wordle",), {}]


def refused(call, *given, **named):
    with pytest.raises(LoquentError) as error:
        call(*given, **named)
    return str(error.value)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_odd_arguments_are_typed_errors(odd, tmp_path):
    for call in (
        lambda: loquent.task(odd),
        lambda: loquent.check(odd),
        lambda: loquent.play(odd, "random"),
        lambda: loquent.play("wordle", {"agent": odd}),
        lambda: loquent.load_run(odd),
        lambda: loquent.evaluate(odd),
        lambda: loquent.train("reviews_ppo", odd, profile="smoke"),
        lambda: loquent.train(odd, tmp_path / "run"),
        lambda: loquent.task("wordle").rows(odd),
    ):
        assert "must be" in (why := refused(call)) or "known" in why.lower(), why


def test_an_agent_of_another_kind_is_named():
    assert "agents = 5 is an int; it must be an Agent, the name of one" in refused(loquent.play, "wordle", 5)


def test_a_mapping_may_name_agents_and_a_seat_that_nobody_has_is_refused():
    [episode] = loquent.play("wordle", {"agent": "random"})
    assert episode.turns
    assert "'x'" in refused(loquent.play, "wordle", "random", learning="x")


def test_a_path_is_taken_as_an_option(tmp_path):
    (tmp_path / "words.txt").write_text("crane\n")
    assert loquent.task("wordle", words=Path(tmp_path / "words.txt")).rows("train")[0]["secret"] == "crane"


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
    for recipe in ("reviews_ppo", loquent.recipes.load("reviews_ppo", profile="smoke")):
        assert says in refused(loquent.train, recipe, tmp_path / "run", overrides)
    assert says in refused(loquent.recipes.load, "reviews_ppo", overrides)


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
    assert f"keys = {keys!r}: give a logged key, or a list" in refused(run.plot, keys)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: loquent.recipes.load("reviews_ppo", ["algorithm.kind=reinforce"]),
            "an algorithm of your own as module:Name",
        ),
        (lambda: loquent.recipes.load("reviews_ppq"), "more. `loquent list recipes` shows all"),
        (
            lambda: loquent.play("wordle", "nobody"),
            "`loquent list agents` shows all. Name an agent of your own",
        ),
        (lambda: loquent.task("wordel"), "Name a task of your own as module:Name"),
    ],
)
def test_an_unknown_name_says_where_all_are_and_how_your_own_is_named(call, says):
    assert says in refused(call)
