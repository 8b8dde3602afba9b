"""An agent of a network of SB3 plays the task it was trained on, and says so elsewhere."""

import numpy as np
import pytest

from loquent.agents.sb3 import Chooser
from loquent.core.actions import Slots, Texts
from loquent.core.agent import Question
from loquent.core.seeding import Key
from loquent.core.task import Observation
from loquent.errors import BadSetting


def asked(actions):
    return [Question("game", (), Observation("x"), Key(0), actions=actions)]


def chooser(actions):
    return Chooser("sb3/ppo", lambda seen: np.zeros((len(seen), len(actions))), greedy=True, actions=actions)


def test_equal_actions_are_chosen_among():
    assert [one.text for one in chooser(Texts(["a", "b"])).answer(asked(Texts(["a", "b"])))] == ["a"]
    assert (
        chooser(Slots(3))
        .answer([Question("game", (), Observation("x", legal=("u", "v", "w")), Key(0), actions=Slots(3))])[0]
        .text
        == "u"
    )


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (Texts(["a", "c"]), r"2 actions \('a', 'b', ...\), not among 2 actions \('a', 'c', ...\)"),
        (Slots(2), "not among 2 actions;"),
        (None, "but this task has none"),
    ],
)
def test_other_actions_are_refused_before_anything_is_scored(actions, said):
    def scores(seen):
        raise AssertionError("scored")

    with pytest.raises(BadSetting, match=said):
        Chooser("sb3/ppo", scores, greedy=True, actions=Texts(["a", "b"])).answer(asked(actions))
