"""Live games for a learner that steps them itself: dealt, ended, credited, saved and played again."""

import pytest

import loquent
from helpers.tracers.echo import Echo
from loquent.adapters.gymnasium import Environment
from loquent.adapters.table import Table
from loquent.core.algorithm import AlgorithmConfig
from loquent.core.metric import Context, Measured
from loquent.core.rollout.loop import games, play
from loquent.core.seeding import Key
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.data.pools import Pool, Sampler
from loquent.errors import BadCheckpoint, BadSetting
from loquent.rewards import Counting, Learner, build
from loquent.rewards.learner import of_run
from loquent.rewards.terms import Term


class Longest:
    """A term: how many characters the last answer has."""

    name, version, higher_is_better = "length", 1, None

    def __call__(self, samples):
        return Measured({"length": [float(len(text)) for text in samples.predictions]}, {})


SENTENCES = [
    {"tokens": ["a", "b"], "labels": ["X", "Y"]},
    {"tokens": ["c"], "labels": ["Y"]},
    {"tokens": ["d", "e", "f"], "labels": ["X", "X", "X"]},
]


def tagging():
    return loquent.task("tagging", source="samples", samples=SENTENCES, labels=["X", "Y"])


def table(task, places=2, terms=(), weights=None, scale=None, learner=None):
    sampler = Sampler(Pool(tuple(task.rows("train"))), Key(3, ("rows",)), scale=scale)
    return Table(
        task,
        sampler,
        places=places,
        seed=3,
        split="train",
        terms=terms,
        weights=weights or task.spec.rewards,
        learner=learner,
    )


def test_games_by_hand():
    one = table(tagging(), places=1)
    tokens = one.observations[0].fields["tokens"]
    gold = {tuple(row["tokens"]): row["labels"] for row in SENTENCES}[tokens]
    rewards = []
    for label in gold:
        [moved] = one.act([["X", "Y"].index(label)])
        rewards.append(moved.reward)
    assert rewards == [1.0] + [0.0] * (len(gold) - 1)  # the share of right labels is 1 from the first on
    assert moved.last.fields["labels"] == tuple(gold)
    assert not moved.bootstraps
    assert moved.observation.fields["position"] == 0  # another game has begun
    [episode] = one.take()
    assert episode.total(Record(token_f1=1.0)) == 1
    assert one.take() == []


def test_the_record_is_what_play_records():
    """The games of a table are those that `play` plays with the same row, number and answers."""
    task, one = tagging(), table(tagging())
    for step in range(12):
        one.act([step % 2, 1])
    kept = one.take()
    assert len(kept) > 3

    class Again:
        name = "table"

        def __init__(self, episode):
            self.said = iter([turn.text for turn in episode.answers()])

        def answer(self, asked):
            from loquent.core.agent import Answer

            return [Answer(next(self.said)) for _ in asked]

    for episode in kept:
        [game] = games([task.row("train", episode.row)], first=episode.number)
        assert play(task, [game], Again(episode), seed=3) == [episode]


def test_terms_come_with_the_last_step():
    task = tagging()
    one = table(
        task, places=1, terms=(Term("length", Longest(), ""),), weights=Record(token_f1=1.0, length=0.5)
    )
    total = 0.0
    for _ in range(10):
        [moved] = one.act([0])
        total += moved.reward
        if moved.last is not None:
            [episode] = one.take()
            assert total == pytest.approx(episode.total(one.weights))
            assert episode.rewards["length"] == 1
            total = 0.0
            assert moved.reward >= 0.5 - 2 / 3


def test_saved_games_go_on_as_they_would_have():
    task, one = tagging(), table(tagging())
    for step in range(7):
        one.act([step % 2, 0])
    state, sampler = one.state_dict(), one.sampler.state_dict()
    two = table(task)
    two.sampler.load_state_dict(sampler)
    two.load_state_dict(state)
    assert two.observations == one.observations
    one.take()
    for step in range(9):
        assert one.act([1, step % 2]) == two.act([1, step % 2])
    assert one.take() == two.take()
    assert one.state_dict() == two.state_dict()


def test_states_of_other_tables_are_refused():
    one = table(tagging())
    assert len(one.observations) == 2
    state = one.state_dict()
    with pytest.raises(BadCheckpoint, match="has 2 running episodes, and the settings ask for 3"):
        table(tagging(), places=3).load_state_dict(state)
    state["games"][0]["row"] = "elsewhere"
    with pytest.raises(BadCheckpoint, match="'elsewhere', which is not in the pool"):
        table(tagging()).load_state_dict(state)


def test_rows_that_are_added_are_dealt_and_a_live_game_goes_on():
    task, one = tagging(), table(tagging(), places=1, scale=1.0)
    before = one.observations
    one.sampler.add([Row("new", Record(tokens=("z",), labels=("X",)))], [1e9])
    assert one.observations == before
    while one.act([0])[0].last is None:
        pass
    assert one.observations[0].fields["tokens"] == ("z",)
    again = table(task, places=1, scale=1.0)
    again.sampler.load_state_dict(one.sampler.state_dict())
    again.load_state_dict(one.state_dict())
    assert again.observations == one.observations


def test_only_tasks_with_actions_have_tables():
    with pytest.raises(BadSetting, match="takes free text"):
        table(Echo())


def test_running_statistics_are_of_the_games_that_have_ended():
    task = tagging()
    term = Term("length", Longest(), "", Counting(normalization="running"))
    learner = Learner([term])
    one = table(task, places=1, terms=(term,), weights=Record(length=1.0), learner=learner)
    while len(one.done) < 3:
        one.act([0])
    assert [(game.rewards["length"], game.rewards["length/raw"]) for game in one.take()] == [(0.0, 1.0)] * 3
    assert learner.state_dict() == {"length": {"count": 3, "mean": 1.0, "squares": 0.0}}


def test_a_score_by_statistics_of_all_is_refused_where_episodes_are_scored_alone():
    """CIDEr of one episode by the idf of its own references is 0, whatever was said."""
    [batched], _ = build({"cider": 1.0}, Context())
    for playing in (True, False):
        with pytest.raises(
            BadSetting,
            match=r"rewards.cider: its score .* depends on the episodes scored with it.*cider has with a "
            r"corpus",
        ):
            of_run([batched], None, name="sb3/ppo", playing=playing, recorded=not playing, ends=None)
    with pytest.raises(
        BadSetting,
        match=r"the term 'cider': .* an environment scores each alone; .*bert_score with idf: task",
    ):
        Environment("generation", terms=[batched])
    of_run([batched], AlgorithmConfig(), name="ppo", playing=False, recorded=False, ends=None)


@pytest.mark.parametrize(
    ("counting", "said"),
    [
        ({"normalization": "batch"}, "no collection to normalise over; use 'running'"),
        ({"potential": True}, "gives a reward at every step; leave it out"),
    ],
)
def test_what_needs_a_collection_or_every_step_is_refused(counting, said):
    term = Term("length", Longest(), "", Counting(**counting))
    with pytest.raises(BadSetting, match=said):
        of_run([term], None, name="double_dqn", playing=True, recorded=False, ends=None)
    with pytest.raises(BadSetting, match=r"recorded episodes are scored once, in parts.*use 'none'"):
        of_run(
            [Term("x", Longest(), "", Counting(normalization="running"))],
            None,
            name="ilql",
            playing=False,
            recorded=True,
            ends=None,
        )
    with pytest.raises(BadSetting, match="normalization and potential work only in training"):
        Environment("generation", terms=[term])
