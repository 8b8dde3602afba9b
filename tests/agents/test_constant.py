"""Players that say the same in every game: worked out by hand on a few rows, and played."""

import pytest

import loquent
from helpers.tracers.interview import Interview
from loquent.agents.constant import Constant, Majority
from loquent.core.agent import make
from loquent.errors import BadSetting

TAGGED = [("a b .", "X Y P"), ("b b .", "Y Y P"), ("c", "Z"), ("a a .", "X Y P")]
LABELLED = [("A", "B"), ("A", "C"), ("B", "C"), ("A",), ("B", "C"), ("B", "C", "A"), ("B",)]


def tagging():
    samples = [{"tokens": tokens.split(), "labels": labels.split()} for tokens, labels in TAGGED]
    return loquent.task("tagging", source="samples", samples=samples, labels=("P", "X", "Y", "Z"))


def labelling():
    samples = [{"text": f"text {i}", "labels": labels} for i, labels in enumerate(LABELLED)]
    return loquent.task("multilabel", source="samples", samples=samples, labels=("A", "B", "C"))


def answering(places="BBBA"):
    samples = [
        {"question": f"q{i}", "choices": ["one", "two", "three"], "answer": place}
        for i, place in enumerate(places)
    ]
    return loquent.task("multiple_choice", source="samples", samples=samples)


def test_the_commonest_label():
    assert Majority(tagging()).script == (
        "Y",
    )  # 4 of 10 tokens; P, which ends most sentences, is an ordinary label (3)
    assert Majority(labelling()).script == ("B", "terminate")  # in 5 of 7 texts


def test_the_best_constant_answer():
    # Sets by their F1 on the seven texts. {B, C}: 1/2, 1/2, 1, 0, 1, 4/5, 2/3 makes 4.47. {A, B}: 1, 1/2,
    # 1/2, 2/3, 1/2, 4/5, 2/3 makes 4.63. {B, C, A}: 4/5, 4/5, 4/5, 1/2, 4/5, 1, 1/2 makes 5.2, and it is one
    # of the expert's games.
    assert Constant(labelling()).script == ("B", "C", "A", "terminate")
    # Shares of right tokens of "Y" alone: 1/3, 2/3, 0, 1/3. Of "X Y P", the commonest game: 1, 2/3, 0, 1.
    assert Constant(tagging()).script == ("X", "Y", "P")
    assert Constant(answering()).script == ("CONTINUE", "ANSWER")
    assert Constant(answering("AACAB")).script == ("ANSWER",)


@pytest.mark.parametrize(
    ("name", "task", "said"),
    [("majority", tagging, ["Y", "Y", "Y"]), ("constant", answering, ["CONTINUE", "ANSWER"])],
)
def test_they_play(name, task, said):
    task = task()
    [episode] = loquent.play(task, make(name, task), episodes=1)
    assert [turn.text for turn in episode.answers()] == said


def test_the_last_text_is_said_for_ever():
    samples = [
        {"tokens": ["a"] * 5, "labels": ["X"] * 5, "split": "test"},
        {"tokens": ["a", "b"], "labels": ["X", "Y"], "split": "train"},
    ]
    task = loquent.task("tagging", source="samples", samples=samples, labels=("X", "Y"))
    [episode] = loquent.play(task, Constant(task), split="test", episodes=1)
    assert [turn.text for turn in episode.answers()] == ["X", "Y", "Y", "Y", "Y"]


def test_a_task_without_an_expert_or_rows_is_refused():
    with pytest.raises(BadSetting, match="has no expert"):
        Constant(Interview())
    with pytest.raises(BadSetting, match="no training rows"):
        Majority(loquent.task("multiple_choice", source="samples"))
