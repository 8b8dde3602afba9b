"""The players of Wordle, and the picture of its board."""

import numpy as np
import pytest

from loquent import registry
from loquent.agent import Agent
from loquent.errors import LoquentError
from loquent.live import Live
from loquent.play import games, play
from loquent.seeding import Key
from loquent.tasks.wordle import views
from loquent.tasks.wordle.marks import marks
from loquent.tasks.wordle.task import Wordle, WordleOptions
from tracers.guess import Guess

PLAYERS = ("wordle/consistent", "wordle/half", "wordle/random")


def player(name, task):
    return registry.find("agent", name)(task)


@pytest.mark.parametrize("name", PLAYERS)
def test_players_are_registered_agents_and_keyed_by_the_question(name):
    task = Wordle(WordleOptions(limit=50))
    one = player(name, task)
    assert isinstance(one, Agent)
    assert one.name == name
    questions = [Live(task, row, 0, 3).asked() for row in task.rows("train")[:10]]
    together = one.answer(questions)
    assert [one.answer([question])[0] for question in questions] == together
    assert len({answer.text for answer in together}) > 3
    assert {answer.text for answer in together} <= set(task.words)
    with pytest.raises(LoquentError, match=f"{name} plays wordle, not guess-v1"):
        player(name, Guess())


@pytest.mark.parametrize("rule", ["ilql", "official"])
def test_the_consistent_player_never_contradicts_a_mark(rule):
    task = Wordle(WordleOptions(rule=rule))
    for one in play(task, games(task.rows("train")[::10]), player("wordle/consistent", task), seed=0):
        said = [turn.text for turn in one.answers()]
        board = one.turns[-1].observation.fields["board"]
        for i, guess in enumerate(said):
            assert all(marks(before, guess, rule) == told for before, told in board[:i])


def test_the_random_player_contradicts():
    task = Wordle()
    done = play(task, games(task.rows("train")[::50]), player("wordle/random", task), seed=0)
    boards = [one.turns[-1].observation.fields["board"] for one in done]
    assert not all(marks(before, guess) == told for board in boards for i, (guess, _) in enumerate(board) for before, told in board[:i])


def test_players_choose_uniformly():
    # 2,000 first guesses from five words: chi-square with 4 degrees of freedom exceeds 18.5 once in a thousand
    task = Wordle(WordleOptions(limit=5))
    for name in PLAYERS:
        one = player(name, task)
        said = [one.answer([Live(task, task.rows("train")[0], i, 0).asked()])[0].text for i in range(2000)]
        counts = np.array([said.count(word) for word in task.words])
        assert ((counts - 400) ** 2 / 400).sum() < 18.5


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "known", "error"),  # the paper's code, measured elsewhere on the 2,315 words: mean return and its standard error
    [("wordle/consistent", -3.10, 0.016), ("wordle/half", -4.24, 0.022), ("wordle/random", -5.99, 0.005)],
)
def test_returns_on_the_official_list(beside, name, known, error):
    task = Wordle(WordleOptions(words=str(beside / "data/wordle/wordle_official.txt")))
    returns = [one.total(task.spec.rewards) for one in play(task, games(task.rows("test")[::2], each=2), player(name, task), seed=5)]
    within = 3.3 * np.hypot(error, np.std(returns) / np.sqrt(len(returns)))
    assert abs(np.mean(returns) - known) < within < 0.13  # neighbours lie more than a whole turn apart


def test_the_picture_by_hand():
    task = Wordle()
    step = task.act(task.start(task.row("train", "train:steel"), Key(0)), "crane")
    step = task.act(task.act(step, "nonsense"), "steel")
    picture = views.board(step.observation)
    # c is letter 3, r 18, a 1, n 14, e 5; marks b 1, y 2, g 3; the invalid word leaves no row
    assert picture[0].tolist() == [[3, 1], [18, 1], [1, 1], [14, 1], [5, 2]]
    assert picture[1, :, 1].tolist() == [3] * 5
    assert not picture[2:].any()
    assert picture in views.BOARD[0]
    assert views.board(step.observation) is not picture
