"""Every public function names an argument of another kind, and says what it must be."""

import math
from pathlib import Path

import gymnasium
import pytest

import loquent
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
