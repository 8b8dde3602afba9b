"""What is logged of a collection: numbers worked out by hand."""

import math

import torch

from loquent import rollout
from loquent.episode import TASK, Episode, Turn
from loquent.models.tokens import TokenBatch
from loquent.values import Record


def episode(text, **rewards):
    turns = (Turn(TASK, "say", to="agent"), Turn("agent", text, rewards=Record(rewards)))
    return Episode("t", "r", "train", 0, 0, turns, ended="done")


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
    # joy applies to both episodes, wit to the first only: raw wit = 4 / 1, weighted wit = 4 * 0.25 / 2; the weighted parts add up to the return
    found = rollout.summary([episode("a b", joy=1.0, wit=4.0), episode("c", joy=0.0)], batch(2, 4), Record(joy=2.0, wit=0.25))
    assert found["rollout/reward/joy"] == 0.5
    assert found["rollout/reward/wit"] == 4.0
    assert found["rollout/weighted/joy"] == 1.0
    assert found["rollout/weighted/wit"] == 0.5
    assert found["rollout/return"] == 1.5 == found["rollout/weighted/joy"] + found["rollout/weighted/wit"]
    assert found["rollout/tokens"] == 3.0


def test_a_reward_without_a_weight_is_logged_raw_only():
    found = rollout.summary([episode("a", joy=1.0, beside=5.0)], batch(1, 2), Record(joy=1.0))
    assert found["rollout/reward/beside"] == 5.0
    assert "rollout/weighted/beside" not in found


def test_drift_by_hand():
    # "a b a b a b": trigrams aba bab aba bab: 2 of 4 are new, so half repeat; "c d e": one trigram, none repeats. Mean 1/4.
    # bigrams ab ba ab ba ab, cd de: 4 different of 7; words (6 + 3) / 2.
    found = rollout.drift(["a b a b a b", "C d e"])
    assert found == {"rollout/words": 4.5, "rollout/repetition": 0.25, "rollout/distinct_2": 4 / 7}
    assert rollout.drift(["a b c d e f", "c d e"])["rollout/repetition"] == 0.0


def test_what_has_no_bigrams_has_no_value():
    found = rollout.drift(["word", ""])
    assert found["rollout/words"] == 0.5
    assert math.isnan(found["rollout/repetition"])
    assert math.isnan(found["rollout/distinct_2"])
