"""Labels, spans and answers as text: against seqeval's stored scores on WNUT 2017, scikit-learn on real
labels, and by hand.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.preprocessing import MultiLabelBinarizer

from helpers.metrics import tagged_pairs
from helpers.metrics.laws import check_laws, rows
from loquent.core import registry
from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting
from loquent.metrics.labels.answers import Accuracy, choice
from loquent.metrics.labels.label_texts import label_set, tags
from loquent.metrics.labels.sets import HammingLoss, LabelSets
from loquent.metrics.labels.tokens import SpanF1, TokenLabels

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "seqeval.json").read_text(encoding="utf-8"))


def score(metric, predictions, references, given=None):
    return metric(Samples(predictions, references, [""] * len(predictions), given or rows(len(predictions))))


def tagged(beside, scheme="bio"):
    """(texts with spoiled labels, references, right labels, spoiled labels)"""
    right, spoiled = tagged_pairs.SCHEMES[scheme]
    found = [(tokens, right(gold), spoiled(said)) for tokens, gold, said in tagged_pairs.sentences(beside)]
    texts = [tagged_pairs.written(tokens, said) for tokens, _, said in found]
    return (
        texts,
        [[tagged_pairs.written(tokens, gold)] for tokens, gold, _ in found],
        [gold for _, gold, _ in found],
        [said for _, _, said in found],
    )


@pytest.mark.data
@pytest.mark.parametrize("scheme", ["bio", "bioes", "io"])
def test_spans_are_those_of_seqeval(beside, scheme):
    texts, references, _, _ = tagged(beside, scheme)
    found = score(SpanF1(scheme), texts, references)
    assert len(texts) == GOLDEN["n"] >= 200
    assert found.samples["span_f1"] == pytest.approx(GOLDEN[scheme]["samples"], abs=1e-12)
    for key, part in (("span_f1", "f1"), ("span_f1/precision", "precision"), ("span_f1/recall", "recall")):
        assert found.corpus[key] == pytest.approx(GOLDEN[scheme][part], abs=1e-12)
    other = score(SpanF1(scheme), [*texts[1:], texts[0]], references).corpus["span_f1"]
    assert other != pytest.approx(GOLDEN[scheme]["f1"], abs=1e-12)  # it can fail


@pytest.mark.data
def test_tokens_are_those_of_scikit_learn(beside):
    texts, references, gold, said = tagged(beside)
    found = score(TokenLabels(), texts, references)
    flat = [label for one in gold for label in one], [label for one in said for label in one]
    assert found.corpus["token_labels"] == pytest.approx(sk.accuracy_score(*flat), abs=1e-12)
    assert found.corpus["token_labels"] == pytest.approx(sk.f1_score(*flat, average="micro"), abs=1e-12)
    for average in ("macro", "weighted"):
        assert found.corpus[f"token_labels/{average}_f1"] == pytest.approx(
            sk.f1_score(*flat, average=average, zero_division=0), abs=1e-12
        )
        each = [
            sk.f1_score(a, b, average=average, zero_division=0)
            for a, b in zip(gold[:100], said[:100], strict=True)
        ]
        assert found.samples[f"token_labels/{average}_f1"][:100] == pytest.approx(each, abs=1e-12)
    assert found.corpus["token_labels/macro_f1"] != pytest.approx(
        found.corpus["token_labels/weighted_f1"], abs=1e-3
    )


@pytest.fixture
def abstracts(beside):
    """(right, said) labels of AAPD's test part: the first dropped, another text's first added, or turned
    round, by rule.
    """
    with gzip.open(beside / "data" / "aapd" / "label_test.gz", "rt", encoding="utf-8") as file:
        gold = [line.split() for line in file]
    said = [
        (
            own[1:],
            [*own, *(label for label in gold[i - 1][:1] if label not in own)],
            own[::-1],
            gold[i - 1],
            [],
        )[i % 5]
        for i, own in enumerate(gold)
    ]
    return gold, said


@pytest.mark.data
def test_label_sets_are_those_of_scikit_learn(abstracts):
    gold, said = abstracts
    labels = sorted({label for one in gold for label in one})
    arrays = [MultiLabelBinarizer(classes=labels).fit_transform(part) for part in (gold, said)]
    texts, references = (
        [" ".join([*one, "terminate"]) for one in said],
        [[" ".join([*one, "terminate"])] for one in gold],
    )
    found = score(LabelSets(), texts, references)
    assert len(texts) >= 200
    wanted = {
        "label_sets": sk.f1_score(*arrays, average="samples", zero_division=0),
        "label_sets/micro_f1": sk.f1_score(*arrays, average="micro"),
        "label_sets/macro_f1": sk.f1_score(*arrays, average="macro", zero_division=0),
        "label_sets/jaccard": sk.jaccard_score(*arrays, average="samples", zero_division=0),
        "label_sets/exact": sk.accuracy_score(*arrays),
    }
    assert {key: found.corpus[key] for key in wanted} == pytest.approx(wanted, abs=1e-12)
    loss = score(HammingLoss(len(labels)), texts, references).corpus["hamming_loss"]
    assert loss == pytest.approx(sk.hamming_loss(*arrays), abs=1e-12) != pytest.approx(0.0)
    ranked = [_ndcg(a, b, labels) for a, b in zip(gold, said, strict=True)]
    assert found.samples["label_sets/ndcg"] == pytest.approx(ranked, abs=1e-12)
    assert found.samples["label_sets/ndcg"] != pytest.approx(found.samples["label_sets"], abs=1e-3)


def _ndcg(gold, said, labels):
    grades = np.array([[len(gold) - gold.index(label) if label in gold else 0 for label in labels]])
    ranks = np.array([[1000 - said.index(label) if label in said else -k for k, label in enumerate(labels)]])
    return sk.dcg_score(grades, ranks, k=len(said)) / sk.dcg_score(grades, grades) if said else 0.0


def test_text_forms():
    assert tags(" NEW/LOC YORK/LOC\n1996-08-22/O ") == ("LOC", "LOC", "O") == tags("LOC LOC O")
    assert tags("1/2/CD //SYM x/ /") == ("CD", "SYM", "", "")
    assert label_set("cs.DM cs.IT terminate cs.AI") == ("cs.DM", "cs.IT") == label_set("cs.DM\ncs.IT")
    assert (
        label_set("oil prices, cocoa terminate", ",")
        == ("oil prices", "cocoa")
        == label_set("oil prices,, cocoa, terminate", ",")
    )
    assert label_set("terminated pre-terminate") == ("terminated", "pre-terminate")
    assert label_set("terminate") == label_set("") == ()


def test_tagging_by_hand():
    # LOC LOC O against LOC LOC MISC: 2 of 3; F1 of LOC 1, O 0, MISC 0: macro 1/3, weighted 2/3 * 1
    found = score(TokenLabels(), ["NEW/LOC YORK/LOC 1996-08-22/MISC"], [["LOC LOC O"]])
    assert found.samples == {
        "token_labels": [2 / 3],
        "token_labels/macro_f1": [1 / 3],
        "token_labels/weighted_f1": [2 / 3],
    }
    # what is missing or too much is wrong: 2 of 3, 2 of 4
    assert score(TokenLabels(), ["LOC LOC", "LOC LOC O O"], [["LOC LOC O"]] * 2).samples["token_labels"] == [
        2 / 3,
        3 / 4,
    ]
    assert score(SpanF1("io"), ["LOC LOC O", "LOC O LOC", "O O O"], [["LOC LOC O"]] * 3).samples[
        "span_f1"
    ] == [1.0, 0.0, 0.0]
    assert score(SpanF1(), ["O O", "B-X I-X"], [["O O"], ["B-X I-X"]]).corpus["span_f1"] == 1.0


def test_rows_tell_the_labels_where_there_is_no_reference():
    told = [Row("a", Record(labels=("X", "O"))), Row("b", Record(labels=("X", "O"))), Row("c")]
    for metric in (TokenLabels(), SpanF1("io"), LabelSets(), HammingLoss(2)):
        best = 0.0 if isinstance(metric, HammingLoss) else 1.0
        found = score(metric, ["X O", "O X", "X O"], [[], ["O X"], []], told).samples[metric.name]
        assert found == [best, best, None]
        assert score(metric, ["X"], [[]]).corpus == {}
        with pytest.raises(BadRow, match="row 'd' has a str as 'labels'; a list of texts is allowed"):
            score(metric, ["X"], [[]], [Row("d", Record(labels="X"))])


def test_the_reference_that_agrees_best_counts():
    assert score(TokenLabels(), ["X O"], [["O O", "X O", "O X"]]).samples["token_labels"] == [1.0]
    assert score(SpanF1("io"), ["X O"], [["O X", "X O"]]).corpus["span_f1"] == 1.0
    assert score(LabelSets(), ["a b"], [["a", "b a", "c"]]).samples["label_sets"] == [1.0]


def test_label_sets_by_hand():
    # {a, b} against a a c: F1 = 2 * 1 / (3 + 2), Jaccard 1 / 3; gains 2 of 2 + 1 / log2 3
    found = score(LabelSets(), ["a a c"], [["a b"]]).samples
    assert found["label_sets"] == [2 / 5]
    assert found["label_sets/jaccard"] == [1 / 3]
    assert found["label_sets/ndcg"] == [pytest.approx(2 / (2 + 1 / np.log2(3)), abs=1e-12)]
    assert found["label_sets/exact"] == [0.0]
    assert score(HammingLoss(4), ["a a c", "x y z u v"], [["a b"]] * 2).samples["hamming_loss"] == [
        2 / 4,
        1.0,
    ]
    # no label is right and none is said
    assert [
        score(LabelSets(empty=empty), ["terminate"], [["terminate"]]).samples["label_sets"]
        for empty in (0.0, 1.0)
    ] == [[0.0], [1.0]]


def test_answers():
    asked = Row("q", Record(ids=("A", "B"), choices=("a dog", "a cat"), answer="B"))
    for said in ("B", " (B)\n", "B.", "a cat", "B:"):
        assert score(Accuracy(), [said], [[]], [asked]).samples["accuracy"] == [1.0]
    for said in ("A", "a dog", "", "AB", "cat", "b"):
        assert score(Accuracy(), [said], [[]], [asked]).samples["accuracy"] == [0.0]
    assert score(Accuracy(), ["B", "a cat"], [["a cat"], ["B"]], [asked] * 2).corpus["accuracy"] == 1.0
    assert score(Accuracy(), ["x ", "y", "z"], [["y", "x"], ["x"], []]).samples["accuracy"] == [
        1.0,
        0.0,
        None,
    ]
    assert choice("(B)", (), ()) == "(B)"


@pytest.mark.parametrize(
    "metric",
    [TokenLabels(), SpanF1(), SpanF1("io"), SpanF1("bioes"), Accuracy()],
    ids=lambda metric: metric.name,
)
def test_laws(metric):
    check_laws(metric, 0.0, 1.0, 1.0)


def test_laws_of_label_sets():
    # a label said twice counts twice, so only texts without one score 1 against themselves
    texts = st.lists(st.sampled_from(["cs.IT", "math.CO", "cs.DM", "a-label", "猫"]), unique=True).map(
        " ".join
    )
    for metric, best in ((LabelSets(), 1.0), (HammingLoss(5), 0.0)):
        check_laws(metric, 0.0, 1.0)
        check_laws(
            metric,
            0.0,
            1.0,
            best,
            samples=st.lists(
                st.tuples(texts, st.lists(texts, min_size=1, max_size=3), texts), min_size=1, max_size=4
            ),
        )


@given(st.text(), st.text(), st.text(max_size=2))
def test_no_text_raises(said, wanted, separator):
    for metric in (TokenLabels(), SpanF1(), LabelSets(separator), HammingLoss(3, separator), Accuracy()):
        score(metric, [said], [[wanted]], [Row("q", Record(ids=("A",), choices=(wanted,)))])


def test_registered_by_name():
    made = {
        name: registry.find("metric", name)(Context())
        for name in ("token_labels", "span_f1", "label_sets", "accuracy")
    }
    assert all(metric.name == name for name, metric in made.items())
    assert registry.find("metric", "span_f1")(Context(), scheme="bioes").scheme == "bioes"
    with pytest.raises(BadSetting, match="no task with labels"):
        registry.find("metric", "hamming_loss")(Context())
    assert registry.find("metric", "hamming_loss")(Context(), classes=3).classes == 3
    import loquent

    task = loquent.task("multilabel")
    assert registry.find("metric", "hamming_loss")(Context(task=task)).classes == len(task.labels)
    with pytest.raises(BadSetting, match="scheme must be one of 'io', 'bio', 'bioes', got 'iob'"):
        registry.find("metric", "span_f1")(Context(), scheme="iob")
