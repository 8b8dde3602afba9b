"""The cheap policies of tagging, labelling and answering: worked out by hand on a few rows, and played."""

import pytest

import loquent
from loquent.core.agent import make
from loquent.core.rollout.loop import games, play
from loquent.errors import BadSetting

TAGGED = [("runs Mill b", "V N X"), ("walking b runs", "V X N"), ("runs", "V"), ("B", "Y")]
ANSWERED = [
    ("a big red ball", ("small cat", "red balloon", "big ball"), "C"),
    ("the sun", ("moon", "sun"), "B"),
]
LABELLED = {"gold fell": "AB", "gold rose": "AB", "oil fell": "C", "oil rose": "C", "gold oil": "ABC"}


def samples(name, rows, **options):
    return loquent.task(name, source="samples", samples=rows, **options)


def tagging(rows=TAGGED):
    rows = [{"tokens": tokens.split(), "labels": labels.split()} for tokens, labels in rows]
    return samples("tagging", rows, labels=("N", "V", "X", "Y"))


def labelling():
    rows = [{"text": text, "labels": [*labels]} for text, labels in LABELLED.items()]
    return samples("multilabel", rows, labels=("A", "B", "C"), max_steps=5)


def answering(rows=ANSWERED):
    rows = [
        {"question": "?", "facts": [fact], "choices": list(choices), "answer": answer}
        for fact, choices, answer in rows
    ]
    return samples("multiple_choice", rows)


@pytest.mark.parametrize(
    ("tokens", "labels"),
    [
        ("runs b B", "V X Y"),  # as seen: V twice, N once; "b" and "B" are other tokens
        ("RUNS", "V"),  # in small letters
        ("Bill", "N"),  # -ill with a capital, as Mill
        ("bill talking", "V V"),  # no -ill in small letters: the commonest label; -king as walking
    ],
)
def test_a_tagger_of_frequent_labels(tokens, labels):
    task = tagging()
    row = {"tokens": tokens.split(), "labels": ["X"] * len(tokens.split())}
    [episode] = play(task, games([task.row_from(row)]), make("tagging/frequent", task), seed=0)
    assert [turn.text for turn in episode.answers()] == labels.split()


def test_a_labeller_by_ridge_regression():
    task = labelling()
    agent = make("multilabel/ridge", task, {"features": {"kind": "hashed", "dimension": 64}})
    found = play(task, games(task.rows("train")), agent, seed=0)
    assert {frozenset(turn.text for turn in episode.answers()) for episode in found} == {
        frozenset([*labels, "terminate"]) for labels in LABELLED.values()
    }


def test_an_answer_by_overlap():
    """The share of a choice's words in the facts: 0, 1/2, 1 and 0, 1; so only 1 answers both rows."""
    task = answering()
    agent = make("multiple_choice/overlap", task)
    assert agent.least == 1.0
    episodes = play(task, games(task.rows("train")), agent, seed=0)
    assert [[turn.text for turn in episode.answers()] for episode in episodes] == [
        ["CONTINUE", "CONTINUE", "ANSWER"],
        ["CONTINUE", "ANSWER"],
    ]


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("tagging/frequent", "tagging"),
        ("multilabel/ridge", "multilabel"),
        ("multiple_choice/overlap", "multiple_choice"),
    ],
)
def test_without_training_rows(name, task):
    labels = {} if task == "multiple_choice" else {"labels": ("A", "B")}
    task = loquent.task(task, source="samples", **labels)
    with pytest.raises(BadSetting, match="no training rows"):
        make(name, task)
    with pytest.raises(BadSetting, match=name.partition("/")[0]):
        make(name, loquent.task("wordle", limit=20))
