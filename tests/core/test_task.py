"""The protocol of the base class: the end, the turn limit, the cut, names and identity."""

from dataclasses import dataclass, replace

import pytest

from helpers.tracers import TRACERS
from helpers.tracers.board import Board
from helpers.tracers.echo import Echo
from helpers.tracers.guess import Guess
from helpers.tracers.labels import Labels
from helpers.tracers.twins import Infinite, Unnamed, UnnamedReason
from loquent.core.seeding import Key
from loquent.core.task import Outcome, Task
from loquent.core.values import Record
from loquent.errors import BrokenTask, EpisodeOver, UnknownName

KEY = Key(0)


def start(task, row=0):
    return task.start(task.rows("train")[row], KEY)


def test_acting_after_the_end_raises_and_names_the_rule():
    task = Echo()
    last = task.act(start(task), "ab")
    with pytest.raises(EpisodeOver, match=r"echo-v1 ended at turn 1 \(said\)"):
        task.act(last, "ab")


def test_the_turn_limit_ends_and_a_rule_s_own_end_comes_first():
    task = Labels()
    step = start(task)
    for turn in (1, 2, 3):
        assert step.ended is None
        step = task.act(step, "nonsense")
        assert step.turn == turn
    assert step.ended == "out of turns"

    class Last(Labels):
        def play(self, state, move):
            return replace(super().play(state, move), ended="by rule")

    assert Last().act(start(Last()), "x").ended == "by rule"


@pytest.mark.parametrize(("stopped", "ended"), [("end", "said"), ("stop", "said"), ("length", "cut")])
def test_only_length_cuts_and_only_at_a_horizon(stopped, ended):
    assert Echo().act(start(Echo()), "ab", stopped).ended == ended
    assert Labels().act(start(Labels()), "ab", stopped).ended is None


def test_rewards_survive_a_cut():
    assert Echo().act(start(Echo()), "ab", "length").rewards == Record(same=1.0)


def test_a_task_that_breaks_its_own_names_is_told():
    with pytest.raises(
        BrokenTask,
        match=r"guess-v1: play returned the reward bonus = 1.0; a reward must be a finite number with "
        r"one of these names: "
        r"guess",
    ):
        Unnamed().act(start(Unnamed()), "1")
    with pytest.raises(BrokenTask, match="same = nan"):
        Infinite().act(start(Infinite()), "1")
    with pytest.raises(BrokenTask, match=r"the reason 'no number'; spec.invalid allows only \[\]"):
        UnnamedReason().act(start(UnnamedReason()), "x")


def test_the_last_observation_is_kept():
    step = Board().act(start(Board()), "stop")
    assert step.ended == "stopped"
    assert step.observation.fields["items"] == ()
    assert step.observation.text == "items: ()"


@pytest.mark.parametrize(
    ("ended", "flags"),
    [
        (None, (False, False)),
        ("cut", (False, True)),
        ("stopped", (True, False)),
        ("out of turns", (False, True)),
    ],
)
def test_flags_follow_the_spec(ended, flags):
    assert Board().flags(ended) == flags
    assert Guess().flags("out of turns") == (True, False)


def test_totals_are_weighted_sums_of_known_names():
    assert Board().total(Record(done=1.0, step=-1.0)) == 0.5  # 1 * 1 - 1 * 1/2
    assert Board().total(Record(done=1.0, other=7.0), Record(other=2.0)) == 14.0


@dataclass(frozen=True)
class Options:
    rule: str = "a"


@dataclass(frozen=True)
class Needs:
    rule: str


def test_identity_is_id_version_and_options():
    class Plain(Guess):
        Options = Options

    class Needy(Guess):
        Options = Needs

    assert Guess().identity == "guess-v1"
    assert Plain().identity == Plain(Options("a")).identity == "guess-v1"
    assert Plain(Options("b")).identity.startswith("guess-v1#")
    assert len({Plain(Options(rule)).identity for rule in "abc"}) == 3
    assert Needy(Needs("a")).identity.startswith("guess-v1#")


def test_a_step_does_not_compute_the_identity_again(monkeypatch):
    computed = []
    monkeypatch.setattr("loquent.core.task.identifying", lambda options: computed.append(options) or {})
    task = Guess()
    step = start(task)
    for number in ("9", "8"):
        step = task.act(step, number)
    assert len(computed) <= 2, "the options and their defaults, once for each task"


def test_a_row_is_found_by_its_id():
    assert Guess().row("train", "train:10")["top"] == 10
    with pytest.raises(
        UnknownName, match=r"no row of guess-v1/train is named 'train:11'\. Did you mean 'train:1"
    ):
        Guess().row("train", "train:11")
    with pytest.raises(
        UnknownName,
        match=r"Known: train:1, train:10, train:100\. Rows of test need the split 'test': --split test",
    ):
        Guess().row("train", "test:2")


@pytest.mark.parametrize("name", TRACERS)
def test_a_game_can_be_forked(name):
    task = TRACERS[name]()
    step = start(task)
    one, other = task.act(step, "1"), task.act(step, "0")
    assert one == task.act(step, "1")
    assert one != other or name in ("labels", "board")  # both are invalid there
    assert step == start(task)


def test_a_task_must_have_rules():
    with pytest.raises(TypeError, match="abstract"):
        Task()
    assert Outcome(1, None).rewards == Record()


def test_a_rule_that_raises_is_named_with_what_was_said():
    class Raises(Labels):
        def play(self, state, move):
            return 1 / 0

    with pytest.raises(BrokenTask, match=r"labels-v1: play raised ZeroDivisionError .* on .*nonsense"):
        Raises().act(start(Raises()), "nonsense")
