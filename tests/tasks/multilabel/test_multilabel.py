"""Multi-label classification: the hand-worked episodes ML-1 to ML-7, rewards for order, running scores,
options.
"""

import gymnasium
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.bench.conformance.check import check
from loquent.core.seeding import Key
from loquent.core.task import Invalid
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting
from loquent.metrics.labels import set_scores
from loquent.tasks.multilabel.scores import NOTHING, SCORES, after_label, score_of
from loquent.tasks.multilabel.task import MultiLabel

END = "terminate"


def task(labels, **options):
    return MultiLabel(MultiLabel.Options(source="samples", labels=tuple(labels), **options))


def played(gold, said, labels=None, **options):
    """The steps of a game, the opening first."""
    world = task(labels or sorted({*gold, *said} - {END, ""}) or ("X",), **options)
    steps = [world.start(world.row_from({"text": "a text", "labels": list(gold)}), Key(0))]
    for label in said:
        steps.append(world.act(steps[-1], label))
    return world, steps


def earned(gold, said, **options):
    world, steps = played(gold, said, **{"max_steps": 9, **options})
    return [world.total(step.rewards) for step in steps[1:]]


def near(values):
    return pytest.approx(values, abs=1e-9)


def test_ml_1_the_figure_of_the_paper():
    gold, said = ["cs.DM", "cs.IT"], ["cs.DM", "cs.IT", END]
    assert earned(gold, said) == near([2 / 3, 1 / 3, 0])
    assert earned(gold, said, dense=False) == near([0, 0, 1])
    _, steps = played(gold, said)
    assert [step.observation.fields["labels"] for step in steps] == [
        (),
        ("cs.DM",),
        ("cs.DM", "cs.IT"),
        ("cs.DM", "cs.IT"),
    ]
    assert [step.observation.fields["finished"] for step in steps] == [False, False, False, True]
    assert [step.ended for step in steps] == [None, None, None, END]
    assert earned(gold, ["cs.IT", END], labels=gold) == near([2 / 3, 0])


@pytest.mark.parametrize(
    ("gold", "said", "want"),
    [
        (["acq", "crude", "nat-gas"], ["crude", END], [0.5, 0]),
        (["quant-ph", "cs.IT", "math.IT"], ["cs.IT", "math.IT", END], [0.5, 0.3, 0]),
        (["interest", "money-fx"], ["money-fx", "interest", END], [2 / 3, 1 / 3, 0]),
        (["cpi"], ["money-supply", END], [0, 0]),
    ],
)
def test_ml_2_sets_without_order(gold, said, want):
    assert earned(gold, said) == near(want)


@pytest.mark.parametrize(
    ("gold", "said", "want"),
    [
        ("AB", ["A", "A", "B", END], [2 / 3, -1 / 6, 0.3, 0]),
        ("AB", ["C", "A", "B", END], [0, 0.5, 0.3, 0]),
        ("A", ["A"] * 3, [1, -1 / 3, -1 / 6]),
    ],
)
def test_ml_3_repeats_and_errors_cost_precision(gold, said, want):
    assert earned(gold, said, labels="ABC") == near(want)


def test_ml_4_the_limit_of_steps_truncates():
    for dense in (True, False):
        world, steps = played("AB", "ABB", max_steps=3, dense=dense)
        assert (steps[-1].ended, world.flags(steps[-1].ended)) == ("out of turns", (False, True))
        assert sum(world.total(step.rewards) for step in steps) == near(0.8)  # paid on truncation too
        world, steps = played("AB", ["A", "B", END], max_steps=3, dense=dense)
        assert (steps[-1].ended, world.flags(steps[-1].ended)) == (END, (True, False))
        assert sum(world.total(step.rewards) for step in steps) == near(1.0)


def test_ml_5_no_label_is_right():
    assert earned("", [END], empty_score=0.0) == near([0])
    assert earned("", [END], empty_score=0.0, dense=False) == near([0])
    assert earned("", [END], dense=False) == near([1])
    assert earned("", [END]) == near([0])
    assert earned("", ["A", END]) == near([-1, 0])
    assert earned("", ["A", END], dense=False) == near([0, 0])


def test_ml_6_names_that_cannot_be():
    with pytest.raises(BadSetting, match="'terminate' is the action"):
        task(["A", END])
    with pytest.raises(BadRow, match="named 'terminate'"):
        task("A").row_from({"text": "x", "labels": [END]})
    with pytest.raises(BadRow, match="the label 'B' is unknown; known: A"):
        task("A").row_from({"text": "x", "labels": ["B"]})


def test_ml_7_a_vector_is_the_text_and_the_labels():
    featurizer = pytest.importorskip("loquent.data.features").Hashed(dimension=16)
    settings = {
        "source": "samples",
        "samples": [{"text": "some text", "labels": ["A"]}],
        "labels": list("ABC"),
        "max_steps": 6,
    }
    env = gymnasium.make("loquent/MultiLabel-v0", view="vector", featurizer=featurizer, **settings)
    seen, _ = env.reset(seed=0)
    assert seen.shape == (16 + 3 + 1,)
    np.testing.assert_array_equal(seen[:16], featurizer(["some text"])[0])
    bags = [seen[16:].tolist()]
    for action in (1, 1, 0, 3):
        bags.append(env.step(action)[0][16:].tolist())
    assert bags == [[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 1]]


def test_a_forbidden_repeated_label_is_named():
    world, steps = played(["A"], ["A"], labels=["A", "B"], repeats=False)
    assert world.read(steps[-1].state, "A") == Invalid("repeated label", "A")
    assert world.read(steps[-1].state, "B") == "B"


def test_ml_7_masks_where_labels_may_not_be_repeated():
    settings = {
        "source": "samples",
        "samples": [{"text": "some text", "labels": ["A"]}],
        "labels": list("ABC"),
        "max_steps": 6,
        "repeats": False,
    }
    env = gymnasium.make("loquent/MultiLabel-v0", **settings)
    masks = [env.reset(seed=0)[1]["action_mask"].tolist()]
    for action in (1, 0):
        info = env.step(action)[-1]
        masks.append(info["action_mask"].tolist())
        assert env.unwrapped.action_masks().tolist() == [bool(x) for x in masks[-1]]
    assert masks == [[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 1, 1]]
    assert info["legal"] == ("C", END)
    *_, info = env.step(0)  # the task judges what is not legal: a step, at the cost of precision
    assert info["observation"].fields["labels"] == ("B", "A", "A")
    assert info["score"] == near(2 * 1 / (3 + 1))


# order


def test_rewards_for_order_by_hand():
    # three right labels gain 3, 2, 1, discounted by log2 of place + 1: the best there is gains 3 + 2/log2(3)
    # + 1/2
    best = 3 + 2 / np.log2(3) + 0.5
    assert set_scores.ndcg("ABC", "ABC") == near(1)
    assert set_scores.ndcg("ABC", "CBA") == near((1 + 2 / np.log2(3) + 1.5) / best)
    assert set_scores.ndcg("ABC", "XA") == near(3 / np.log2(3) / best)
    assert set_scores.ndcg("ABC", "AA") == near(3 / best)
    assert [set_scores.prefix("ABC", said) for said in ("ABC", "AB", "ACB", "BAC", "ABCX", "")] == near(
        [1, 2 / 3, 1 / 3, 0, 3 / 4, 0]
    )
    assert earned("ABC", ["A", "B", "C", END], reward="prefix") == near([1 / 3] * 3 + [0])
    assert earned("ABC", ["C", "B", "A", END], reward="prefix") == near([0] * 4)
    assert sum(earned("ABC", ["C", "B", "A", END], reward="ndcg")) == near(set_scores.ndcg("ABC", "CBA"))
    assert earned("AB", ["B", "A", END], reward="exact") == near([0, 1, 0])


@given(
    st.permutations("ABCD"),
    st.integers(0, 4),
    st.lists(st.sampled_from(["A", "B", "C", "D", "E", ""]), max_size=6),
    st.sampled_from([0.0, 1.0]),
)
def test_running_scores_are_those_of_the_whole(order, size, said, empty):
    gold, tally = tuple(order[:size]), NOTHING
    for n, label in enumerate(said):
        tally = after_label(tally, gold, tuple(said[:n]), label)
    whole = {
        name: getattr(set_scores, name)(gold, said, *([] if name == "exact" else [empty])) for name in SCORES
    }
    assert {name: score_of(name, tally, len(said), len(gold), empty) for name in SCORES} == pytest.approx(
        whole, abs=1e-12
    )


@given(
    st.lists(st.sampled_from("ABC"), unique=True),
    st.lists(st.sampled_from("ABCD"), max_size=5),
    st.sampled_from(SCORES),
)
def test_changes_add_up(gold, said, reward):
    start = 1.0 if not gold else 0.0
    total = sum(earned(gold, [*said, END], labels="ABCD", reward=reward))
    last = earned(gold, [*said, END], labels="ABCD", reward=reward, dense=False)
    assert total + start == near(last[-1])
    assert not any(last[:-1])


# options and figures


def test_a_word_that_is_no_label_costs_precision():
    assert earned("A", ["frog", " A ", END], labels="A") == near([0, 2 / 3, 0])
    _, steps = played("A", ["frog", " A ", END], labels="A", max_steps=9)
    assert steps[-1].observation.fields["labels"] == ("", "A")


def test_the_limit_is_the_most_labels_of_any_row_and_one():
    samples = (Record(text="x", labels=("A", "B")), Record(text="y", labels=("C",)))
    assert MultiLabel(MultiLabel.Options(source="samples", samples=samples)).max_steps == 3
    assert task("ABCD").max_steps == 5
    assert MultiLabel().max_steps == 5
    assert max(len(row["labels"]) for row in MultiLabel().rows("train")) == 4


def test_weights_make_every_sequence_of_labels_as_likely():
    samples = tuple(
        Record(text=str(i), labels=labels)
        for i, labels in enumerate([("A",), ("A",), ("A", "B"), ("B", "A")])
    )
    rows = MultiLabel(MultiLabel.Options(source="samples", samples=samples)).rows("train")
    assert [row["weight"] for row in rows] == [0.5, 0.5, 1.0, 1.0]


def test_api_13_figures_of_a_corpus():
    gold, said = [["a"], ["a", "b", "c"]], [["a"], ["a"]]
    assert set_scores.sample_f1(gold, said) == near(0.75)
    assert set_scores.micro_f1(gold, said) == near(2 / 3)
    # a: right twice; b and c: never said
    assert set_scores.macro_f1(gold, said) == near(1 / 3)
    assert gold == [["a"], ["a", "b", "c"]]
    assert said == [["a"], ["a"]]
    world = task("abc")
    games = [(Record(labels=tuple(a)), Seen(tuple(b))) for a, b in zip(gold, said, strict=True)]
    measured = world.measure(games)
    assert measured["sample_f1"] != measured["micro_f1"]
    assert (measured["sample_f1"], measured["micro_f1"], measured["exact"], measured["jaccard"]) == near(
        (0.75, 2 / 3, 0.5, 2 / 3)
    )


class Seen:
    def __init__(self, labels):
        self.fields = {"labels": labels}


@given(
    st.lists(
        st.tuples(st.sets(st.sampled_from("ABC")), st.sets(st.sampled_from("ABC"))), min_size=1, max_size=6
    )
)
def test_figures_are_those_of_scikit_learn(pairs):
    from sklearn.metrics import f1_score, hamming_loss, jaccard_score

    gold, said = ([[int(label in pair[i]) for label in "ABC"] for pair in pairs] for i in (0, 1))
    labels = [sorted(pair[0]) for pair in pairs], [sorted(pair[1]) for pair in pairs]
    used = [i for i, label in enumerate("ABC") if any(label in part for pair in pairs for part in pair)]
    for average, ours in (("micro", set_scores.micro_f1), ("samples", set_scores.sample_f1)):
        assert ours(*labels, 1.0) == near(f1_score(gold, said, average=average, zero_division=1.0))
    if used:
        assert set_scores.macro_f1(*labels) == near(
            f1_score(gold, said, average="macro", labels=used, zero_division=0.0)
        )
    ours = [set_scores.hamming(a, b, 3) for a, b in zip(*labels, strict=True)]
    assert sum(ours) / len(ours) == near(hamming_loss(gold, said))
    ours = [set_scores.jaccard(a, b, 1.0) for a, b in zip(*labels, strict=True)]
    assert sum(ours) / len(ours) == near(jaccard_score(gold, said, average="samples", zero_division=1.0))


def test_figures_of_other_numbers_of_texts_are_refused():
    with pytest.raises(ValueError, match="1 gold items and 2 predicted items"):
        set_scores.micro_f1([["a"]], [["a"], ["b"]])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"text": " ", "labels": []}, "a text that is not empty"),
        ({"text": "x", "labels": ["A", "A"]}, "occurs twice"),
        ({"text": "x", "labels": [3]}, "holds 3"),
        ({"text": "x"}, "'labels' is missing"),
        ({"labels": ["A"]}, "'text' is missing"),
    ],
)
def test_what_is_no_text_with_labels_is_refused(fields, words):
    with pytest.raises(BadRow, match=words):
        task("A").row_from(fields)


@pytest.mark.parametrize(
    "options",
    [
        {"repeats": False},
        {"dense": False, "reward": "ndcg"},
        {"reward": "prefix", "max_steps": 3, "instruct": False},
    ],
)
def test_the_laws_hold_under_every_option(options):
    assert check(MultiLabel(MultiLabel.Options(limit=40, **options)), episodes=6) == []


def test_context_matters_in_the_built_in_texts():
    """Whoever takes every subject that is named for a label has the whole set right far less often than the
    grammar allows.
    """
    from tools.corpora.texts import SUBJECTS

    home = {word: label for label, words in SUBJECTS.items() for word in words}
    rows = MultiLabel().rows("test")
    named = [
        {home[word] for word in row["text"].split() if word in home} == set(row["labels"]) for row in rows
    ]
    assert 0.2 < sum(named) / len(rows) < 0.6
    told = []
    for row in rows:
        clauses = [
            clause
            for clause in row["text"].split(" .")
            if not any(word in clause for word in ("no word", "nobody", "did not matter", "nothing is"))
        ]
        counts = [home[word] for clause in clauses for word in clause.split() if word in home]
        told.append(tuple(sorted(set(counts), key=counts.count, reverse=True)) == row["labels"])
    assert sum(told) / len(rows) == 1.0
