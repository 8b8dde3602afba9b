"""Evaluations apart for groups of rows: by a field, and by whether training rows have the value."""

import pytest

from loquent.core.agent import Answer
from loquent.core.task import Invalid, Observation, Opening, Outcome, Row, Task, TaskSpec
from loquent.core.values import Record
from loquent.data.groups import Groups
from loquent.errors import BadSetting
from loquent.training.evaluate import evaluate_agent


class Echo(Task):
    spec = TaskSpec(id="parrot", rewards=Record(), success=("right",), invalid=("none",))
    ROWS = {"train": [("red", 1), ("blue", 2)], "test": [("red", 1), ("red", 2), ("green", 2), ("gold", 1)]}

    def rows(self, split):
        return tuple(
            Row(f"{split}:{i}", Record(word=word, size=size))
            for i, (word, size) in enumerate(self.ROWS[split])
        )

    def first(self, row, rng):
        return Opening(row["word"], Observation(row["word"]))

    def read(self, state, text):
        return text or Invalid("none", text)

    def play(self, state, move):
        return Outcome(state, Observation(""), ended="right" if move == state else "wrong")


class Red:
    name = "red"

    def answer(self, questions):
        return [Answer("red")] * len(questions)


def test_success_by_group_by_hand():
    evaluation = evaluate_agent(Echo(), Red(), split="test", episodes=4, groups=Groups(("size",), ("word",)))
    shares = {key: value for key, value in evaluation.values.items() if "/" in key and "ended" not in key}
    assert shares == {
        "success/size=1": 0.5,
        "n/size=1": 2,
        "success/size=2": 0.5,
        "n/size=2": 2,
        "success/word seen": 1.0,
        "n/word seen": 2,
        "success/word unseen": 0.0,
        "n/word unseen": 2,
    }
    assert "success/word seen" not in evaluation.errors  # two rows, both right: they tell no spread
    assert evaluation.values["success"] == 0.5


def test_an_unknown_field_is_refused():
    with pytest.raises(BadSetting, match="no field 'colour' to group by; its fields: word, size"):
        evaluate_agent(Echo(), Red(), split="test", episodes=2, groups=Groups(("colour",)))
