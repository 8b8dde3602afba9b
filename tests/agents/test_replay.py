"""An agent that repeats records."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.tracers import TRACERS
from helpers.tracers.echo import Echo
from helpers.tracers.guess import Guess
from loquent.agents.baselines import Random
from loquent.agents.replay import Replay
from loquent.core.agent import Answer
from loquent.core.episode import Tokens, Turn
from loquent.core.rollout.loop import games, play
from loquent.errors import BrokenAgent


@pytest.mark.parametrize("name", TRACERS)
def test_the_same_games_again(name):
    task = TRACERS[name]()
    queue = games(task.rows("train"), each=2)
    done = play(task, queue, Random(task), seed=3)
    again = play(task, queue[::-1], Replay(done), seed=3, live=2)[::-1]
    assert [replace(one, agents=done[0].agents) for one in again] == [
        replace(one, agents=done[0].agents) for one in done
    ]
    assert {seat for one in again for seat, who in one.agents.items() if who == "replay"} >= {"agent"}


def test_tokens_are_said_again():
    tokens = Tokens(np.array([97, 98]), np.zeros(2), np.zeros(2))

    class Draws:
        name = "draws"

        def answer(self, asked):
            return [Answer("ab", "length", tokens) for _ in asked]

    task = Echo()
    queue = games(task.rows("train")[:1])
    done = play(task, queue, Draws(), seed=3)
    again = play(task, queue, Replay(done), seed=3)[0].answers()[0]
    assert (again.tokens, again.stopped) == (tokens, "length")


def test_other_games_are_refused():
    task = Guess()
    queue = games(task.rows("train")[2:])
    done = play(task, queue, Random(task), seed=3)
    for other in ({"seed": 4}, {"seed": 3, "first": 1}):
        with pytest.raises(
            BrokenAgent,
            match=r"the record of the game train:100#\d with seed \d for the seat 'agent' is missing",
        ):
            play(task, games(task.rows("train")[2:], first=other.pop("first", 0)), Replay(done), **other)


def test_a_record_that_ends_too_soon_is_told():
    task = Guess()
    queue = games(task.rows("train")[2:])
    done = play(task, queue, Random(task), seed=3)[0]
    with pytest.raises(BrokenAgent, match="ends after 2 answers"):
        play(task, queue, Replay([replace(done, turns=done.turns[:5])]), seed=3)


def test_two_records_of_one_game_must_agree():
    task = Guess()
    done = play(task, games(task.rows("train")[2:]), Random(task), seed=3)[0]
    Replay([done, done])
    with pytest.raises(BrokenAgent, match="two records of the game train:100#0 with seed 3 differ"):
        Replay([done, done.with_turn(1, Turn("agent", "something else"))])
