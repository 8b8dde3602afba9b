"""PARENT and BLEU of ToTTo against what the official scripts gave, stored in golden/totto.json with their
versions.
"""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.metrics import totto_pairs
from helpers.metrics.laws import check_laws
from loquent.core.metric import Context, Samples
from loquent.core.task import Row
from loquent.core.values import Record
from loquent.errors import BadRow, BadSetting, MissingExtra
from loquent.metrics.lexical.subsequences import lcs_length_at, places
from loquent.metrics.tables import bleu, moses, words
from loquent.metrics.tables.bleu import BleuTotto, bleu_totto
from loquent.metrics.tables.parent import Parent, parent, table_words
from loquent.metrics.tables.rows import Table, table_of

GOLDENS = Path(__file__).parents[1] / "golden"
GOLDEN = json.loads((GOLDENS / "totto.json").read_text(encoding="utf-8"))
SUBSETS = {"overall_": "", "overlap_": "/overlap", "nonoverlap_": "/nonoverlap"}
CELLS = (("Year", "Film"), ("1999", "The Matrix"), ("2003", "Reloaded"))


def film(i=0, **fields):
    return Row(
        f"film{i}",
        Record(
            **{
                "table": CELLS,
                "highlighted_cells": ((1, 0), (1, 1)),
                "table_page_title": "Keanu Reeves",
                **fields,
            }
        ),
    )


def films(n):
    return [film(i, overlap_subset=True) for i in range(n)]


def one(metric, prediction, references, row=None):
    return metric(Samples([prediction], [references], [""], [row or film()]))


@pytest.mark.data
def test_m7_parent_is_the_official_one(beside):
    predictions, references, rows, _ = totto_pairs.pairs(beside)
    assert len(rows) == GOLDEN["overall_"]["n"] >= 200
    found = Parent()(Samples(predictions, references, [""] * len(rows), rows))
    for key, official in (("parent", "f"), ("parent/precision", "precision"), ("parent/recall", "recall")):
        assert [100 * score for score in found.samples[key]] == pytest.approx(
            GOLDEN["samples"][official], abs=1e-9
        )
    for subset, mine in SUBSETS.items():
        for part, official in (("", "f"), ("/precision", "precision"), ("/recall", "recall")):
            assert 100 * found.corpus[f"parent{mine}{part}"] == pytest.approx(
                GOLDEN[subset][official], abs=1e-9
            )
    alone = Parent(pad=False)(
        Samples(predictions, [own[:1] for own in references], [""] * len(rows), rows)
    ).samples["parent"]
    assert [100 * score for score in alone] == pytest.approx(GOLDEN["first_reference_alone"], abs=1e-9)
    assert [100 * score for score in alone] != pytest.approx(GOLDEN["samples"]["f"], abs=1e-9)  # it can fail


@pytest.mark.data
def test_m7_bleu_is_the_official_one(beside):
    predictions, references, rows, _ = totto_pairs.pairs(beside)
    found = BleuTotto()(Samples(predictions, references, [""] * len(rows), rows))
    for subset, mine in SUBSETS.items():
        assert 100 * found.corpus[f"bleu_totto{mine}"] == pytest.approx(GOLDEN[subset]["bleu"], abs=1e-9)
    upper = BleuTotto(pad=False)(Samples(predictions, references, [""] * len(rows), rows))
    # it can fail
    assert 100 * upper.corpus["bleu_totto"] != pytest.approx(GOLDEN["overall_"]["bleu"], abs=1e-9)


def test_detokenised_as_by_moses():
    stored = json.loads((GOLDENS / "moses.json").read_text(encoding="utf-8"))["pairs"]
    assert len(stored) >= 200
    assert [moses.detokenise(text) for text, _ in stored] == [right for _, right in stored]
    assert sum(text != right for text, right in stored) > 150  # it does something


@given(st.text())
def test_detokenising_moves_nothing_but_spaces(text):
    plain = text.replace("&", "").replace("@", "")
    assert moses.detokenise(plain).replace(" ", "") == plain.replace(" ", "")


def test_parent_by_hand():
    # values: 1999, the matrix, keanu reeves. "the matrix of 1999" against itself: P = 1; the reference's
    # n-grams are all there: 1; mentioned 1, 1, 0: 2/3 = 1 - l;  R = 1^(2/3) (2/3)^(1/3)
    found = one(Parent(pad=False), "The Matrix of 1999", ["the matrix of 1999"]).samples
    recall = (2 / 3) ** (1 / 3)
    assert found["parent/precision"] == [1.0]
    assert found["parent/recall"] == [pytest.approx(recall, abs=1e-12)]
    assert found["parent"] == [pytest.approx(2 * recall / (1 + recall + 1e-8), abs=1e-12)]
    # "1999 x" against "the matrix": words 1/2 in the table, the pair half in it, no longer n-gram: (1/2 * 1/2
    # * 1e-5 * 1e-5)^(1/4)
    found = one(Parent(pad=False), "1999 x", ["the matrix"]).samples
    assert found["parent/precision"] == [pytest.approx((0.25e-10) ** 0.25, abs=1e-15)]
    # mentioned by the answer 1/3, by the reference 1/3 (l = 2/3); none of the reference's words is there:
    # 1e-5
    assert found["parent/recall"] == [pytest.approx(1e-5 ** (1 / 3) * (1 / 3) ** (2 / 3), abs=1e-15)]


def test_a_reference_that_names_the_whole_table_is_matched_by_itself():
    said = "Keanu Reeves was in The Matrix in 1999"
    assert one(Parent(), said, [said]).samples["parent"] == [pytest.approx(1.0, abs=1e-8)]
    assert (
        one(Parent(), said, [said, "other"]).corpus["parent"]
        > one(Parent(), "Keanu Reeves", [said, "other"]).corpus["parent"]
    )


def test_null_references_make_the_table_enough():
    # the official files fill up to three references with "<null>", against which copying what is highlighted
    # is perfect
    copied, told = "1999 The Matrix Keanu Reeves", ["in 1999 he starred in a film that everybody remembers"]
    assert one(Parent(), copied, told).samples["parent"] == [pytest.approx(1.0, abs=1e-8)]
    assert one(Parent(pad=False), copied, told).samples["parent"][0] < 0.6
    assert one(Parent(), copied, told * 3).samples == one(Parent(pad=False), copied, told).samples


def test_an_empty_answer_is_null():
    for metric in (Parent(), BleuTotto()):
        assert one(metric, " \n", ["a film"]).corpus == one(metric, "<null>", ["a film"]).corpus
    # the corpus score is the official one, in which "<null>" stands among the references; the sample's is not
    # to be had for nothing
    given = Samples(
        ["The Matrix was a film of 1999", ""],
        [["the matrix is a film of 1999"], ["a film"]],
        [""] * 2,
        films(2),
    )
    assert BleuTotto()(given).corpus["bleu_totto"] > BleuTotto(pad=False)(given).corpus["bleu_totto"]
    assert one(BleuTotto(), "", ["a film", "<null>"]).samples["bleu_totto"] == [0.0]
    assert one(Parent(), "", ["a film"]).samples["parent"][0] < 1e-4


def test_bleu_of_one_sentence():
    import sacrebleu

    said, told = "The cat , it sat on  the mat .", ["the cat, it is sitting on the mat.", "A cat sat."]
    right = (
        sacrebleu.sentence_bleu("the cat, it sat on the mat.", [text.lower() for text in told]).score / 100
    )
    assert one(BleuTotto(), said, told).samples["bleu_totto"] == [pytest.approx(right, abs=1e-12)]
    assert one(BleuTotto(), said, told).samples["bleu_totto"] != [
        pytest.approx(sacrebleu.sentence_bleu(said, told).score / 100, abs=1e-3)
    ]


def test_bleu_is_at_most_1():
    text = "the cat sat on the mat"
    found = one(BleuTotto(pad=False), text, [text])
    assert (found.samples["bleu_totto"], found.corpus["bleu_totto"]) == ([1.0], 1.0)


def test_subsets():
    told = [film(0, overlap_subset=True), film(1, overlap_subset=False), film(2)]
    for metric in (Parent(), BleuTotto()):
        said, references = (
            ["in 1999 the matrix came out"] * 3,
            [["in 1999 the matrix came"], ["in 2003 the matrix came out"], ["in 1999 the matrix ended"]],
        )
        found = metric(Samples(said, references, [""] * 3, told))
        scores = found.samples[metric.name]
        assert (
            found.corpus[metric.name]
            != found.corpus[f"{metric.name}/overlap"]
            != found.corpus[f"{metric.name}/nonoverlap"]
        )
        assert set(metric(Samples([""], [["a"]], [""], told[:1])).corpus) == {
            key for key in metric.keys if "/nonoverlap" not in key
        }
        assert set(metric(Samples([""], [["a"]], [""], told[2:])).corpus) == {
            key for key in metric.keys if "overlap" not in key
        }
        if metric.name == "parent":
            assert found.corpus["parent/nonoverlap"] == scores[1]
            assert found.corpus["parent"] == pytest.approx(sum(scores) / 3, abs=1e-12)


def test_what_does_not_apply_has_no_score():
    for metric in (Parent(), BleuTotto()):
        assert one(metric, "a", []).samples[metric.name] == [None]
        assert one(metric, "a", []).corpus == {}
    for row in (
        film(highlighted_cells=(), table_page_title=""),
        film(table=(("", " "),), highlighted_cells=((0, 0),), table_page_title=None),
    ):
        assert one(Parent(), "a", ["a"], row).samples["parent"] == [None]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"table": None}, r"row 'film0' has None as 'table'; a list of rows of cells is allowed"),
        ({"table": (1, 2)}, r"row 'film0' has a tuple as 'table'"),
        (
            {"table": ((1,),), "highlighted_cells": ()},
            r"row 'film0' has an int in 'table'; a text is allowed, or a cell with a text under 'value'",
        ),
        (
            {"highlighted_cells": ((3, 0),)},
            r"row 'film0' highlights the cell \(3, 0\), but its table of 3 rows has no such cell",
        ),
        ({"highlighted_cells": ((-1, 0),)}, "highlights the cell"),
        (
            {"highlighted_cells": "all"},
            r"has a str as 'highlighted_cells'; a list of pairs \[row, column\] is allowed",
        ),
        ({"overlap_subset": "no"}, "has a str as 'overlap_subset'; true or false is allowed"),
    ],
)
def test_bad_tables_are_named(fields, message):
    with pytest.raises(BadRow, match=message):
        one(Parent(), "a", ["a"], film(**fields))
    with pytest.raises(BadRow, match="row 'r' has no field 'table'"):
        one(Parent(), "a", ["a"], Row("r"))


def test_cells_are_texts_or_have_a_value():
    official = film(
        table=tuple(tuple(Record(value=cell, is_header=False) for cell in line) for line in CELLS)
    )
    assert (
        table_of(official)
        == table_of(film())
        == Table(
            ("Year", "Film", "1999", "The Matrix", "2003", "Reloaded", "Keanu Reeves"),
            ("1999", "The Matrix", "Keanu Reeves"),
        )
    )
    assert table_words(Table(("a|b", "it 's \t\n"), ("<skipped>", "x y"))).values == (("x", "y"),)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=90))
def test_common_subsequences_are_the_longest(value, text):
    table = [[0] * (len(text) + 1) for _ in range(len(value) + 1)]
    for i, a in enumerate(value):
        for j, b in enumerate(text):
            table[i + 1][j + 1] = table[i][j] + 1 if a == b else max(table[i][j + 1], table[i + 1][j])
    assert lcs_length_at(value, places(text), len(text)) == table[-1][-1]


def test_laws():
    check_laws(Parent(), 0.0, 1.0, row=films)
    check_laws(Parent(pad=False), 0.0, 1.0, row=films, examples=10)
    check_laws(BleuTotto(), 0.0, 1.0, row=films, examples=15)


def test_identity_is_the_best_bleu():
    # a sample without any reference's word in it is none to begin with, and an empty answer is never rewarded
    texts = st.lists(
        st.sampled_from(["the", "cat", "sat", "(", ",", "'s", "42"]), min_size=1, max_size=20
    ).map(" ".join)
    check_laws(
        BleuTotto(),
        0.0,
        1.0,
        1.0,
        samples=st.lists(st.tuples(texts, st.just(["a"]), texts), min_size=1, max_size=4),
        row=films,
    )


def test_options():
    assert (parent(Context()), parent(Context(), pad=False)) == (Parent(), Parent(False))
    assert bleu_totto(Context(), pad=False) == BleuTotto(False)
    with pytest.raises(BadSetting, match="parent has no setting 'lambda_weight'"):
        parent(Context(), lambda_weight=0.5)


def test_without_sacrebleu(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_13a", None)
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    for forget in (words.tokenizer_13a, bleu._bleu):
        forget.cache_clear()
    for make in (parent, bleu_totto):
        with pytest.raises(MissingExtra, match=r"sacrebleu.* needs the libraries of loquent\[metrics\]"):
            make(Context())


@given(st.text() | st.text("ab'1é \t"))
def test_words_are_cut_as_by_13a(text):
    from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

    assert words.tokens(text) == tuple(Tokenizer13a()(text.strip()).split())
