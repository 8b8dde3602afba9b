"""Pseudo-values of corpus scores: by hand, and for means the numbers themselves."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.metric import Context, Measured, Samples
from loquent.core.settings import Remark
from loquent.core.task import Row
from loquent.metrics.diversity.diversity import Diversity
from loquent.metrics.diversity.self_bleu import SelfBleu
from loquent.metrics.diversity.watch import Watch
from loquent.metrics.jackknife import pseudo_values
from loquent.metrics.labels import label_counts
from loquent.metrics.labels.sets import LabelSets
from loquent.metrics.labels.tokens import SpanF1, TokenLabels
from loquent.metrics.lexical.bleu import bleu
from loquent.training.metrics import Renamed

TEXTS = ["a b a b", "a b", "c d e"]  # bigrams: ab ba ab, ab, cd de: 4 different ones of 6


def test_a_share_of_bigrams_by_hand():
    """Without each text 3 of 3, 4 of 5 and 2 of 4, whose mean is 23/30, so 2/3 + 2 (23/30 - (1, .8, .5))."""
    measured = Watch()(Samples(TEXTS))
    assert measured.corpus["watch/distinct_2"] == 4 / 6
    assert pseudo_values(measured, ["x", "y", "z"])["watch/distinct_2"] == pytest.approx([0.2, 0.6, 1.2])
    assert pseudo_values(Diversity()(Samples(TEXTS)), ["x", "y", "z"])[
        "diversity/distinct-2"
    ] == pytest.approx([0.2, 0.6, 1.2])


def test_samples_of_a_row_leave_together():
    """Without row x 2 of 2, without y 2 of 4: 2/3 + .75 - (1, .5). A sample that failed has no part in it."""
    measured = Watch()(Samples(TEXTS))
    assert pseudo_values(measured, ["x", "x", "y"])["watch/distinct_2"] == pytest.approx(
        [5 / 12, 5 / 12, 11 / 12]
    )
    found = pseudo_values(measured, ["x", None, "y"])["watch/distinct_2"]
    assert found[1] is None
    assert found[::2] == pytest.approx([4 / 6 - 0.25, 4 / 6 + 0.25])


def test_equal_answers_by_hand():
    """Two of three answers are equal; without one of them none is, without the other both are."""
    measured = Watch()(Samples(["a b", "c", "a b"]))
    assert pseudo_values(measured, ["x", "y", "z"])["watch/same"] == pytest.approx([4 / 3, -2 / 3, 4 / 3])


@given(st.lists(st.text("abc ", min_size=3, max_size=9), min_size=2, max_size=9))
def test_the_mean_over_rows_is_the_score(texts):
    """Of Tukey's own values it is another number: of equal answers, up to twice the score."""
    for metric in (Watch(), Diversity()):
        measured = metric(Samples(texts))
        for key, column in pseudo_values(measured, list(map(str, range(len(texts))))).items():
            assert sum(column) / len(column) == pytest.approx(measured.corpus[key], abs=1e-12), key


def test_the_largest_numbers_have_no_pseudo_values():
    """2e307 times 9 rows is above the largest float, and so is the sum of the scores without each row."""
    for score, other in ((1e308, -1e308), (0.0, 1.7e308)):
        measured = Measured({}, {"score": score}, leave_out=lambda own, last=other: {"score": last * own[0]})
        found = pseudo_values(measured, list("abcdefghi"))
        assert found == {}


@given(st.lists(st.tuples(st.sampled_from("uvwxyz"), st.floats(-5, 5)), min_size=2, max_size=12))
def test_the_pseudo_values_of_a_mean_over_rows_are_the_means_of_the_rows(pairs):
    """So their mean is the score."""
    rows, numbers = zip(*((row, round(number, 6)) for row, number in pairs))
    own = {row: [number for of, number in zip(rows, numbers) if of == row] for row in rows}
    means = {row: sum(some) / len(some) for row, some in own.items()}

    def mean(left_out):
        gone = {rows[number] for number in left_out}
        some = [value for row, value in means.items() if row not in gone]
        return {"score": sum(some) / len(some)} if some else {}

    found = pseudo_values(Measured({}, mean([]), leave_out=mean), rows)
    if len(means) == 1:
        assert found == {}
    else:
        assert found["score"] == pytest.approx([means[row] for row in rows], abs=1e-9)
        assert sum(dict(zip(rows, found["score"])).values()) / len(means) == pytest.approx(mean([])["score"])


def test_what_has_no_pseudo_values():
    rows = ["x", "y", "z"]
    assert pseudo_values(SelfBleu()(Samples(TEXTS)), rows) == {}, "each would be a whole evaluation"
    named = pseudo_values(Diversity(window=2)(Samples(TEXTS)), rows)
    assert {key.split("-")[0] for key in named} == {"diversity/distinct"}, (
        "counts and entropies have no direction, so no test asks for them"
    )
    one = bleu(Context(), tokenizer="whitespace")(Samples(["a b", "c"], [["a b"], []]))
    assert one.corpus
    assert pseudo_values(one, ["x", "y"]) == {}, "without x there is no score"


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        (None, "must return a dict of numbers by key, got None"),
        ({"half": None}, "half = None, which is no finite number"),
        ({"half": "0.5"}, "half = '0.5', which"),
        ({"half": float("inf")}, "half = inf, which"),
        (ZeroDivisionError("by zero"), "test_jackknife.py:.*: ZeroDivisionError: by zero"),
    ],
)
def test_a_wrong_result_of_leaving_out_is_one_remark(rest, says):
    """Other keys keep their values, as numbers of Python."""

    def leave_out(numbers):
        if isinstance(rest, Exception):
            raise rest
        return None if rest is None else {**rest, "fine": np.float32(numbers[0])}

    measured = Measured({}, {"half": 0.5, "fine": 1.0}, leave_out=leave_out)
    with pytest.warns(Remark, match=f"own:half: no values by row are kept: .*{says}") as shown:
        found = pseudo_values(measured, ["x", "y"], "own:half")
    assert len(shown) == 1
    assert found == ({"fine": [1.5, 0.5]} if isinstance(rest, dict) else {})
    assert all(type(value) is float for column in found.values() for value in column)


@pytest.mark.parametrize("metric", [LabelSets(), TokenLabels()])
def test_a_row_that_is_left_out_is_all_that_is_counted_again(metric, monkeypatch):
    """So evaluations of more than 1,000 rows have values by row too."""
    made = [Row(str(i), {}) for i in range(1_200)]
    measured = metric(Samples([f"a b{i % 7} c" for i in range(1_200)], [["a b0 d"]] * 1_200, (), made))
    parts, part = [], label_counts._part
    monkeypatch.setattr(label_counts, "_part", lambda own: parts.append(own) or part(own))
    found = pseudo_values(measured, [row.id for row in made])
    assert found.keys() >= {key for key in measured.corpus if "macro" in key}
    assert all(len({*column}) == 2 for column in found.values())
    assert len(parts) == 1_200 * 4 * 2 + sum(i % 7 > 0 for i in range(1_200)) * 2


@pytest.mark.parametrize("metric", [LabelSets(), TokenLabels(), SpanF1(), Renamed("two", LabelSets())])
def test_results_can_be_sent_to_another_process(metric):
    samples = Samples(["a b", "c"], [["a c"], ["c"]], (), [Row("x", {}), Row("y", {})])
    measured = metric(samples)
    sent = pickle.loads(pickle.dumps(measured))
    assert sent == measured
    assert sent.leave_out([0]) == measured.leave_out([0]) != {}
