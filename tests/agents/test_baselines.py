"""Random and expert players."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.tracers import TRACERS
from helpers.tracers.echo import Echo
from helpers.tracers.guess import Guess
from helpers.tracers.labels import Labels
from helpers.tracers.twins import SlotsGuess
from loquent.agents.baselines import WORDS, Expert, Random
from loquent.core.agent import Agent
from loquent.core.live import Live
from loquent.core.rollout.loop import games, play
from loquent.errors import BrokenAgent


def asked(task, row=0, seed=0):
    return Live(task, task.rows("train")[row], 0, seed).question()


def offering(*legal):
    class Offers(SlotsGuess):
        def first(self, row, rng):
            opening = super().first(row, rng)
            return replace(opening, observation=replace(opening.observation, legal=legal))

    return Offers()


@pytest.mark.parametrize("name", TRACERS)
def test_both_are_agents_and_keyed_by_the_question(name):
    task = TRACERS[name]()
    questions = [asked(task, row, seed) for row in range(3) for seed in range(3)]
    for agent in (Random(task), Expert(task)):
        assert isinstance(agent, Agent)
        together = agent.answer(questions)
        assert [agent.answer([one])[0] for one in reversed(questions)][::-1] == together
        assert len(together) == 9
    assert len({answer.text for answer in Random(task).answer(questions)}) > 1


def test_random_says_legal_actions_only():
    task = Labels()
    for one in play(task, games(task.rows("train"), each=4), Random(task), seed=0):
        said = [turn.text for turn in one.answers()]
        assert len(set(said)) == 3
        assert all(task.actions.index(text) is not None for text in said)


def test_random_is_uniform():
    # 1,000 draws from four slots: chi-square with 3 degrees of freedom exceeds 16.3 once in a thousand
    task = offering("0", "1", "2", "3")
    drawn = [int(Random(task).answer([asked(task, seed=seed)])[0].text) for seed in range(1000)]
    assert ((np.bincount(drawn, minlength=4) - 250) ** 2 / 250).sum() < 16.3


def test_free_text_is_words_some_of_them_read():
    task = Echo()
    said = [Random(task).answer([asked(task, 1, seed)])[0].text.split() for seed in range(300)]
    assert {1, 12} <= {len(words) for words in said} <= set(range(1, 13))
    assert {word for words in said for word in words} <= {*WORDS, "echo"}
    assert any("echo" in words for words in said)


def test_nothing_legal_is_answered_with_nothing():
    task = offering()
    assert Random(task).answer([asked(task)])[0].text == ""


def test_the_expert_plays_what_the_task_says():
    task = Guess()
    done = play(task, games(task.rows("train")), Expert(task), seed=0)
    assert [one.ended for one in done] == ["found"] * 3
    assert done[2].turns[1].text == "49"  # halves 0..99


def test_no_expert_is_an_error_in_words():
    class Silent(Guess):
        def expert(self, state):
            return None

    with pytest.raises(BrokenAgent, match="guess-v1 has no expert for the seat 'agent'"):
        Expert(Silent()).answer([asked(Silent())])
