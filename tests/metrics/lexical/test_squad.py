import pytest

from helpers.metrics.laws import check_laws
from loquent.core.metric import Context, Samples
from loquent.metrics.lexical.squad import answer_words, exact_match, token_f1


def score(make, prediction, *references):
    metric = make(Context())
    return metric(Samples([prediction], [list(references)])).samples[metric.name][0]


def test_normalised():
    assert answer_words("The  Cat's a-b, AN apple!") == ["cats", "ab", "apple"]
    assert answer_words("another theory") == ["another", "theory"]
    assert answer_words("the $ a.") == []
    assert answer_words("«ça»") == ["«ça»"]  # only ASCII's punctuation goes, as in the official script


def test_exact_match():
    assert score(exact_match, "The Eiffel Tower.", "x", "eiffel tower") == 1.0
    assert score(exact_match, "32", "1932") == 0.0
    assert score(exact_match, "", "the") == 1.0
    assert score(exact_match, "", "cat") == 0.0


def test_token_f1_by_hand():
    # cat cat dog against cat dog dog: two common words of three each
    assert score(token_f1, "cat cat dog", "cat dog dog") == pytest.approx(2 / 3)
    assert score(token_f1, "a big cat", "the cat", "dog") == pytest.approx(2 * 1 / (2 + 1))
    assert score(token_f1, "", "the") == 1.0
    assert score(token_f1, "", "cat") == score(token_f1, "cat", "a") == score(token_f1, "x", "y") == 0.0


def test_no_reference_is_no_score():
    found = token_f1(Context())(Samples(["a", "b"], [[], ["b"]], ["", ""], []))
    assert (found.samples["token_f1"], found.corpus["token_f1"]) == ([None, 1.0], 1.0)


@pytest.mark.parametrize("make", [exact_match, token_f1])
def test_laws(make):
    check_laws(make(Context()), 0, 1, best=1.0)
