"""What is logged of a collection: numbers worked out by hand."""

import math

import pytest
import torch

from loquent.core import log_keys
from loquent.core.episode import TASK, Episode, Turn
from loquent.core.task import TaskSpec
from loquent.core.values import Record
from loquent.models.tokens.batch import TokenBatch
from loquent.training.experience import summary as rollout_summary

SPEC = TaskSpec(id="t", success=("left",))


def episode(text, ended="done", row="r", **rewards):
    turns = (Turn(TASK, "say", to="agent"), Turn("agent", text, rewards=Record(rewards)))
    return Episode("t", row, "train", 0, 0, turns, ended=ended)


def batch(rows, length):
    tokens = torch.zeros(rows, length, dtype=torch.int64)
    real = torch.ones(rows, length, dtype=torch.bool)
    is_action = real.clone()
    is_action[:, 0] = False
    ended = torch.ones(rows, dtype=torch.bool)
    return TokenBatch(
        tokens=tokens,
        real=real,
        is_action=is_action,
        turn=tokens,
        reward=tokens.float(),
        ended=ended,
        episode=torch.arange(rows),
    )


def test_rewards_raw_and_weighted():
    # joy applies to both episodes, wit to the first only: wit = (4 + 0) / 2, and 4 / 1 where present; the
    # weighted parts add up to the return
    found = rollout_summary.tokens(
        [episode("a b", joy=1.0, wit=4.0), episode("c", joy=0.0)],
        batch(2, 4),
        Record(joy=2.0, wit=0.25),
        SPEC,
    )
    assert found["rollout/reward/joy"] == 0.5
    assert found["rollout/reward/wit"] == 2.0
    assert found["rollout/reward_where_present/wit"] == 4.0
    assert "rollout/reward_where_present/joy" not in found, (
        "every episode has it: the other mean would be the same"
    )
    assert found["rollout/weighted/joy"] == 1.0
    assert found["rollout/weighted/wit"] == 0.5
    assert found["rollout/return"] == 1.5 == found["rollout/weighted/joy"] + found["rollout/weighted/wit"]
    assert found["rollout/tokens"] == 3.0


def test_a_reward_without_a_weight_is_logged_raw_only():
    found = rollout_summary.tokens([episode("a", joy=1.0, beside=5.0)], batch(1, 2), Record(joy=1.0), SPEC)
    assert found["rollout/reward/beside"] == 5.0
    assert "rollout/weighted/beside" not in found


def test_drift_by_hand():
    # "a b a b a b": trigrams aba bab aba bab: 2 of 4 are new, so half repeat; "c d e": one trigram, none
    # repeats. Mean 1/4. bigrams ab ba ab ba ab, cd de: 4 different of 7; words (6 + 3) / 2.
    found = rollout_summary.drift(["a b a b a b", "C d e"])
    assert found == {"rollout/words": 4.5, "rollout/repetition": 0.25, "rollout/distinct_2": 4 / 7}
    assert rollout_summary.drift(["a b c d e f", "c d e"])["rollout/repetition"] == 0.0


def test_what_has_no_bigrams_has_no_value():
    found = rollout_summary.drift(["word", ""])
    assert found["rollout/words"] == 0.5
    assert math.isnan(found["rollout/repetition"])
    assert math.isnan(found["rollout/distinct_2"])


@pytest.mark.parametrize("kind", ["texts", "turns"])
def test_success_and_endings_are_shares_of_all_episodes(kind):
    games = [
        episode("a", ended="left", row="1", exit=1.0),
        *(episode("b", ended, row) for row, ended in (("2", "lost"), ("3", "cut"), ("4", "lost"))),
    ]
    given = (games, batch(4, 2)) if kind == "texts" else (games,)
    found = (rollout_summary.tokens if kind == "texts" else rollout_summary.turns)(
        *given, Record(exit=1.0), SPEC
    )
    assert next(iter(found)) == "rollout/success"
    # 1 of 4: sqrt(3/4 * 1/4 / 3)
    assert (found["rollout/success"], found["rollout/success_error"]) == (0.25, pytest.approx(0.25))
    assert {key: value for key, value in found.items() if "/ended/" in key} == {
        "rollout/ended/left": 0.25, "rollout/ended/lost": 0.5, "rollout/ended/cut": 0.25,
    }  # fmt: skip
    assert found["rollout/reward/exit"] == 0.25
    assert found["rollout/reward_where_present/exit"] == 1.0
    assert logged_unknown(found) == []


def test_the_error_of_success_is_clustered_by_row():
    # each row has two equal answers, so 4 rows count, not 8 episodes: the error of 1 of 4, as above
    games = [episode("a", "left" if row == "1" else "lost", row) for row in "12341234"]
    assert rollout_summary.turns(games, Record(), SPEC)["rollout/success_error"] == pytest.approx(0.25)
    # all answers are for one row: it does not show how rows vary
    found = rollout_summary.turns([episode("a", ended="left"), episode("b")], Record(), SPEC)
    assert found["rollout/success"] == 0.5
    assert "rollout/success_error" not in found
    # all episodes agree: they do not show how they vary
    equal = rollout_summary.turns([episode("a", "left", row) for row in "12"], Record(), SPEC)
    assert equal["rollout/success"] == 1.0
    assert "rollout/success_error" not in equal


def test_a_reward_that_no_episode_earned_is_logged_as_0():
    found = rollout_summary.turns([episode("a"), episode("b")], Record(exit=1.0), SPEC)
    assert found["rollout/reward/exit"] == found["rollout/weighted/exit"] == found["rollout/success"] == 0.0
    assert "rollout/reward_where_present/exit" not in found


def logged_unknown(found):
    return [key for key in found if log_keys.definition(key, log_keys.LOGGED) is None]
