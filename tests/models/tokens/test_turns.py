from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.actions import Texts, bitset
from loquent.core.episode import Episode, Turn
from loquent.core.task import Observation
from loquent.core.values import Record
from loquent.errors import LoquentError
from loquent.models.tokens.turns import turn_batch

WORDS = Texts(["left", "right", "stay"])
WEIGHTS = Record(gold=2.0)


def view(observation):
    return {
        "place": np.array([observation.fields["x"], 0.5], dtype=np.float32),
        "length": np.array(len(observation.text)),
    }


def told(x, legal=None, seat="agent"):
    return Turn("task", f"at {x}", to=seat, observation=Observation(f"at {x}", Record(x=x), legal, seat))


def said(text, seat="agent", **rewards):
    return Turn(seat, text, rewards=Record(rewards))


def episode(*turns, ended="done", number=0):
    return Episode("walk-v1", "row", "train", 0, number, turns, ended)


def test_each_answer_is_one_turn_with_what_was_seen_before_and_after_it():
    some = bitset([0, 2], 3)
    walk = episode(
        told(1, some),
        said("left", gold=1.0, unused=5.0),
        told(2),
        said("jump"),
        told(3),
        said("stay", gold=-1.0),
        told(4),
    )
    batch = turn_batch([walk], view, WORDS, WEIGHTS)
    assert len(batch) == 3
    assert batch.features["place"][:, 0].tolist() == [1, 2, 3]
    assert batch.next_features["place"][:, 0].tolist() == [2, 3, 4]
    assert batch.features["length"].tolist() == [4, 4, 4]
    assert batch.choice.tolist() == [0, -1, 2]  # "jump" is no action
    assert batch.reward.tolist() == [2.0, 0.0, -2.0]
    assert batch.ended.tolist() == [False, False, True]
    assert batch.turn.tolist() == [1, 3, 5]
    assert batch.legal == (some, None, None)
    assert batch.next_legal == (None, None, None)
    assert batch.mask(WORDS).tolist() == [[True, False, True], [True] * 3, [True] * 3]
    assert batch.mask(WORDS, following=True).all()


@pytest.mark.parametrize(("ended", "last"), [("done", True), ("cut", False), (None, False)])
def test_only_a_rule_ends_a_game(ended, last):
    assert turn_batch(
        [episode(told(1), said("left"), told(2), ended=ended)], view, WORDS, WEIGHTS
    ).ended.tolist() == [last]


def test_other_seats_are_passed_over_and_the_end_is_the_last_observation_of_the_game():
    game = episode(
        told(1),
        said("left"),
        told(7, seat="judge"),
        said("0.9", seat="judge"),
        told(2),
        said("right"),
        told(8, seat="judge"),
    )
    batch = turn_batch([game], view, WORDS, WEIGHTS)
    assert batch.features["place"][:, 0].tolist() == [1, 2]
    assert batch.next_features["place"][:, 0].tolist() == [2, 8]
    judge = turn_batch([game], view, Texts(["0.9"]), WEIGHTS, seat="judge")
    assert (judge.features["place"][:, 0].tolist(), judge.next_features["place"][:, 0].tolist()) == ([7], [8])


def test_rewards_per_token_are_summed():
    turn = replace(said("left", gold=1.0), token_rewards=Record(gold=(0.5, 0.25), style=(9.0,)))
    assert turn_batch([episode(told(1), turn, told(2))], view, WORDS, WEIGHTS).reward.tolist() == [3.5]


def test_several_episodes_stand_one_after_the_other_and_the_pictures_are_made_once():
    calls = []

    def counted(observation):
        calls.append(observation.fields["x"])
        return view(observation)

    games = [
        episode(told(1), said("left"), told(2), said("right"), told(3)),
        episode(told(4)),
        episode(told(5), said("left"), told(6)),
    ]
    batch = turn_batch(games, counted, WORDS, WEIGHTS)
    assert batch.episode.tolist() == [0, 0, 2]
    assert batch.next_features["place"][:, 0].tolist() == [2, 3, 6]
    assert sorted(calls) == [1, 2, 3, 5, 6]


@given(st.lists(st.integers(0, 2), max_size=6))
def test_turns_are_taken_whole(rows):
    walk = episode(
        told(1, "a"), said("left"), told(2, "b"), said("right"), told(3, "c"), said("stay"), told(4, "d")
    )
    batch = turn_batch([walk], view, Echo(), WEIGHTS)
    part = batch.take(rows)
    assert len(part) == len(rows)
    assert part.features["place"][:, 0].tolist() == [1 + i for i in rows]
    assert part.choice.tolist() == rows
    assert part.legal == tuple("abc"[i] for i in rows)
    assert part.next_legal == tuple("bcd"[i] for i in rows)


class Echo(Texts):
    """The same words, whatever is legal."""

    def __init__(self):
        super().__init__(["left", "right", "stay"])


def test_bools_choose_turns_too():
    walk = episode(told(1), said("left"), told(2), said("right"), told(3))
    assert turn_batch([walk], view, WORDS, WEIGHTS).take([False, True]).choice.tolist() == [1]


def test_numpy_until_to_torch():
    torch = pytest.importorskip("torch")
    batch = turn_batch([episode(told(1), said("left", gold=1.0), told(2))], view, WORDS, WEIGHTS)
    assert isinstance(batch.features["place"], np.ndarray)
    moved = batch.to_torch()
    assert {array.dtype for array in (moved.choice, moved.reward, moved.ended)} == {
        torch.int64,
        torch.float32,
        torch.bool,
    }
    assert moved.features["place"].tolist() == batch.features["place"].tolist()
    assert moved.take([0]).next_features["place"].tolist() == [[2.0, 0.5]]


def test_what_cannot_be_a_batch_is_refused():
    bare = replace(told(1), observation=None)
    with pytest.raises(
        LoquentError,
        match=r"turn 0 of the episode row#0 of walk-v1 has no observation in memory; .* with play.replay",
    ):
        turn_batch([episode(bare, said("left"))], view, WORDS, WEIGHTS)
    with pytest.raises(LoquentError, match="turn 0 of the episode row#3 of walk-v1 answers no observation"):
        turn_batch([episode(said("left"), told(1), number=3)], view, WORDS, WEIGHTS)
    with pytest.raises(LoquentError, match="no answer of the learning seat in 1 episodes"):
        turn_batch([episode(told(1))], view, WORDS, WEIGHTS)
    with pytest.raises(
        LoquentError, match=r"the view makes .* of the observation 'at 22', and .* of the first"
    ):
        turn_batch(
            [episode(told(1), said("left"), told(22))],
            lambda seen: {"text": np.zeros(len(seen.text))},
            WORDS,
            WEIGHTS,
        )


def test_a_big_action_set_keeps_its_legal_values():
    many = Texts(map(str, range(100_001)))
    batch = turn_batch([episode(told(1), said("70000"), told(2))], view, many, WEIGHTS)
    assert batch.choice.tolist() == [70000]
    with pytest.raises(LoquentError, match="a mask must have at most 100,000 actions, got 100,001"):
        batch.mask(many)
