"""The one loop: credit, seats, order, broken agents, replay."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.tracers import TRACERS
from helpers.tracers.echo import Echo
from helpers.tracers.guess import Guess
from helpers.tracers.interview import Interview
from helpers.tracers.labels import Labels
from loquent.agents.baselines import Expert, Random
from loquent.core import episode
from loquent.core.agent import Answer
from loquent.core.episode import Tokens
from loquent.core.live import Live
from loquent.core.rollout.loop import Game, games, play, replay, stream
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadSetting, BrokenAgent, EpisodeOver, LoquentError


class Says:
    """Says the given texts, one per own turn; a callable text is asked with the question."""

    def __init__(self, *texts, name="says", stopped="end"):
        self.texts, self.name, self.stopped, self.asked = texts, name, stopped, []

    def answer(self, asked):
        self.asked.append(list(asked))
        return [
            Answer(self.texts[sum(turn.seat != "task" for turn in one.turns) % len(self.texts)], self.stopped)
            for one in asked
        ]


class Gives:
    """Gives back whatever it was made with."""

    name = "gives"

    def __init__(self, thing):
        self.thing = thing

    def answer(self, asked):
        return self.thing(asked) if callable(self.thing) else self.thing


def interview(agent, judge="0.5", asks=("What?", "Why?"), **settings):
    seats = {"agent": agent, "judge": Says(judge, name="j"), "interviewer": Says(*asks, name="i")}
    task = Interview()
    return play(task, games(task.rows("train")), seats, seed=1, **settings)


def test_rewards_belong_to_the_last_turn_of_the_learning_seat():
    # said in order: i asks (?: +0.25 raw 1, owed), agent answers and takes it, i asks again (+1 to the
    # agent's first turn), agent answers (nothing), judge says 0.5 (+0.5 to the agent's second turn)
    first = interview(Says("bread"))[0]
    assert [(turn.seat, dict(turn.rewards)) for turn in first.turns if turn.seat != "task"] == [
        ("interviewer", {}),
        ("agent", {"asked": 2.0}),
        ("interviewer", {}),
        ("agent", {"judge": 0.5}),
        ("judge", {}),
    ]
    assert first.total(Interview.spec.rewards) == 2 * 0.25 + 0.5
    assert first.ended == "judged"
    assert dict(first.agents) == {"agent": "says", "judge": "j", "interviewer": "i"}


def test_another_learning_seat_takes_the_rewards():
    first = interview(Says("bread"), learning="interviewer")[0]
    told = [(turn.seat, dict(turn.rewards)) for turn in first.turns if turn.seat == "interviewer"]
    assert told == [("interviewer", {"asked": 1.0}), ("interviewer", {"asked": 1.0, "judge": 0.5})]
    assert [turn.seat for turn in first.answers()] == ["interviewer"] * 2


def test_rewards_that_nobody_earned_stand_on_the_last_turn():
    first = interview(Says("bread"), learning="nobody")[0]
    assert [bool(turn.rewards) for turn in first.turns] == [False] * (len(first.turns) - 1) + [True]
    assert first.total(Interview.spec.rewards) == 1.0
    assert first.answers() == ()
    assert replay(Interview(), first) == first


def test_a_seat_sees_its_own_turns_only():
    agent = Says("one", "two")
    interview(agent)
    texts = [[(turn.seat, turn.to, turn.text) for turn in asked[0].turns] for asked in agent.asked]
    assert texts == [
        [("task", "agent", "What?")],
        [("task", "agent", "What?"), ("agent", "", "one"), ("task", "agent", "Why?")],
    ]
    assert agent.asked[0][0].game == "train:bread#0"
    assert agent.asked[0][0].row == Record(topic="bread")


def test_one_round_asks_each_seat_once_for_all_games():
    agent = Says("x")
    task = Guess()
    play(task, games(task.rows("train"), each=5), agent, seed=1)
    # three rows, five games each, "x" is never right
    assert [len(asked) for asked in agent.asked] == [15] * 8


def test_one_agent_may_sit_on_every_seat():
    task = Interview()
    done = play(task, games(task.rows("train")), Expert(task), seed=0)
    assert all(dict(one.agents) == dict.fromkeys(("interviewer", "agent", "judge"), "expert") for one in done)
    assert done[0].rewards["judge"] == 0.93


@pytest.mark.parametrize("name", TRACERS)
def test_neither_order_nor_number_of_live_games_changes_an_episode(name):
    task = TRACERS[name]()
    queue = games(task.rows("train"), each=3)
    want = play(task, queue, Random(task), seed=4, live=len(queue))
    for live in (1, 4, 16):
        assert play(task, queue, Random(task), seed=4, live=live) == want
    shuffled = [queue[i] for i in np.random.default_rng(0).permutation(len(queue))]
    again = play(task, shuffled, Random(task), seed=4, live=3)
    assert sorted(again, key=lambda e: (e.row, e.number)) == sorted(want, key=lambda e: (e.row, e.number))
    assert play(task, queue, Random(task), seed=5) != want  # it can fail


def test_episodes_come_in_the_order_of_the_queue_and_stream_as_they_end():
    task = Guess()

    class Slow:
        name = "slow"

        def answer(self, asked):  # the hundred-row takes long, the one-row ends at once
            return [Answer("0" if one.row["top"] == 1 else "nonsense") for one in asked]

    queue = [Game(row) for row in reversed(task.rows("train"))]
    assert [e.row for e in play(task, queue, Slow(), seed=0)] == [game.row.id for game in queue]
    assert [index for index, _ in stream(task, queue, Slow(), seed=0)] == [2, 0, 1]
    assert [index for index, _ in stream(task, queue, Slow(), seed=0, live=1)] == [0, 1, 2]


def test_a_lazy_queue_is_read_only_as_tables_become_free():
    task, taken = Echo(), []

    def queue():
        for i in range(10):
            taken.append(i)
            yield Game(task.rows("train")[0], i)

    flow = stream(task, queue(), Says("ab"), seed=0, live=2)
    next(flow)
    assert taken == [0, 1]
    assert len(list(flow)) == 9


def test_an_empty_queue_gives_nothing():
    assert play(Echo(), [], Says("x"), seed=0) == []


@pytest.mark.parametrize("live", [0, -1])
def test_no_live_game_is_an_error(live):
    with pytest.raises(BadSetting, match=f"live must be an integer of at least 1, got {live}"):
        play(Echo(), [], Says("x"), seed=0, live=live)


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ([], "got 2 questions and returned 0 answers"),
        (lambda asked: [Answer("x")] * 3, "got 2 questions and returned 3 answers"),
        (None, "got 2 questions and returned None"),
        (lambda asked: (Answer("x") for _ in asked), "got 2 questions and returned a generator"),
        (["x", "y"], "'x'; it must return an Answer"),
        ([Answer(7), Answer("x")], "it must return an Answer with a text"),
        ([Answer("x", "bored"), Answer("x")], "with stopped one of end, stop, length"),
    ],
)
def test_a_broken_agent_is_told_apart(thing, words):
    task = Echo()
    with pytest.raises(BrokenAgent, match=words):
        play(task, games(task.rows("train")[:2]), Gives(thing), seed=0)


def test_an_empty_seat_is_named():
    task = Interview()
    with pytest.raises(
        BrokenAgent,
        match="asks the seat 'judge', which has no agent; seats with an agent: agent, interviewer",
    ):
        play(task, games(task.rows("train")), {"agent": Says("x"), "interviewer": Says("y")}, seed=0)


def test_the_horizon_cuts_only_where_the_task_says_so():
    echo, labels = Echo(), Labels()
    cut = play(echo, games(echo.rows("train")[:1]), Says("ab", stopped="length"), seed=0)[0]
    assert (cut.ended, cut.bootstraps, cut.rewards["same"]) == ("cut", True, 1.0)
    said = play(echo, games(echo.rows("train")[:1]), Says("ab", stopped="stop"), seed=0)[0]
    assert (said.ended, said.bootstraps) == ("said", False)
    assert (
        play(labels, games(labels.rows("train")[:1]), Says("label 5", stopped="length"), seed=0)[0].ended
        == "out of turns"
    )


def test_the_stream_of_an_answer_depends_on_game_seat_and_turn_alone():
    task = Guess()
    agent = Says("x")
    play(task, [Game(task.rows("train")[2], 7)], agent, seed=3)
    keys = [asked[0].key for asked in agent.asked]
    assert [key.path for key in keys] == [("train:100", 7, "answer", "agent", turn) for turn in range(8)]
    assert len({key.integer() for key in keys}) == 8


def test_tokens_and_observations_stay_in_memory():
    task = Echo()
    ids = np.array([97, 98])
    tokens = Tokens(ids, np.zeros(2), np.zeros(2))
    done = play(task, games(task.rows("train")[:1]), Gives([Answer("ab", "end", tokens)]), seed=0)[0]
    assert done.answers()[0].tokens is tokens
    assert done.turns[0].observation.fields["word"] == "ab"
    assert "tokens" not in episode.to_json(done)["turns"][1]


@pytest.mark.parametrize("name", TRACERS)
def test_replay_equals_the_record(name):
    task = TRACERS[name]()
    for one in play(task, games(task.rows("train"), each=2), Random(task), seed=8):
        again = replay(task, one)
        assert again == one
        assert [turn.observation for turn in again.turns] == [turn.observation for turn in one.turns]


def test_replay_keeps_what_terms_added_and_mends_what_the_task_gave():
    task = Guess()
    one = play(task, games(task.rows("train")[2:]), Says("3"), seed=8)[0]
    scored = one.with_turn(
        1,
        replace(one.turns[1], rewards=one.turns[1].rewards.with_(judge=0.5), token_rewards=Record(kl=(0.1,))),
    )
    assert replay(task, scored) == scored
    forged = one.with_turn(1, replace(one.turns[1], rewards=Record(guess=100.0)))
    assert replay(task, forged) == one != forged


def test_replay_of_a_record_that_is_not_whole():
    task = Guess()
    one = play(task, games(task.rows("train")[2:]), Says("x"), seed=8)[0]
    running = replace(one, turns=one.turns[:3], ended=None)
    assert replay(task, running) == running
    with pytest.raises(LoquentError, match="has 2 turns, but its replay has 3"):
        replay(task, replace(one, turns=one.turns[:2]))
    with pytest.raises(EpisodeOver):
        replay(task, replace(one, turns=(*one.turns, *one.turns[-2:])))


def test_replay_on_a_row_from_outside():
    task = Guess()
    row = Row("added:1", Record(top=7))
    one = play(task, [Game(row)], Says("3"), seed=8)[0]
    assert replay(task, one, row) == one
    with pytest.raises(KeyError, match="added:1"):
        replay(task, one)


@given(st.lists(st.text(st.characters(), max_size=20), min_size=1, max_size=8))
def test_whatever_is_said_is_recorded_and_reads_back(tmp_path_factory, texts):
    task = Guess()
    one = play(task, games(task.rows("train")[2:]), Says(*texts), seed=8)[0]
    assert replay(task, one) == one
    file = tmp_path_factory.mktemp("episodes") / "e.jsonl"
    assert episode.write(file, [one]) == 1
    assert list(episode.read(file)) == [one]


def test_a_pair_of_surrogates_is_joined_as_json_would():
    task = Echo()
    one = play(task, games(task.rows("train")[:1]), Says("\ud83d\ude00 \ud83d"), seed=8)[0]
    assert one.turns[1].text == "\U0001f600 \ud83d"
    assert one.turns[1].text != "\ud83d\ude00 \ud83d"


def test_a_live_game_says_what_a_step_earned():
    task = Guess()
    live = Live(task, task.rows("train")[0], 0, 0)
    assert live.seat == "agent"
    assert live.act(Answer("x")) == Record(guess=-1.0)
    assert live.act(Answer("0")) == Record(guess=0.0)
    assert live.episode().ended == "found"
    with pytest.raises(EpisodeOver):
        live.act(Answer("0"))
