"""The n-gram model: interpolated Kneser-Ney, by hand."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.bench.ngram import END, UNKNOWN, NGram
from loquent.errors import LoquentError


def test_bigram_by_hand():
    # Texts "a b", "a c". Bigrams: <s>a 2, ab 1, ac 1, b</s> 1, c</s> 1: n1 = 4, n2 = 1, D2 = 4/6.
    # Continuation counts: a 1 (<s>), b 1 (a), c 1 (a), </s> 2 (b, c), sum 5: n1 = 3, n2 = 1, D1 = 3/5. V = {a
    # b c </s> <unk>}. P1(b) = (1 - 3/5)/5 + (3/5)(4/5)(1/V) = 2/25 + 12/125 = 22/125;     P1(</s>) = (2 -
    # 3/5)/5 + 12/125 = 47/125 P(b|a) = (1 - 2/3)/2 + (2/3)(2/2) P1(b) = 1/6 + (2/3)(22/125) = 71/250
    model = NGram(2).fit(["a b", "a c"])
    assert model.probability("b") == pytest.approx(float(Fraction(22, 125)), abs=1e-15)
    assert model.probability(END) == pytest.approx(float(Fraction(47, 125)), abs=1e-15)
    assert model.probability("b", ("a",)) == pytest.approx(float(Fraction(71, 250)), abs=1e-15)
    # an unknown word after a: (2/3) * P1(<unk>) = (2/3)(12/125) = 8/125; and after an unknown context: P1
    assert model.probability("zebra", ("a",)) == pytest.approx(8 / 125, abs=1e-15)
    assert model.probability("b", ("zebra",)) == pytest.approx(22 / 125, abs=1e-15)
    # it can fail
    assert NGram(2).fit(["a b", "a b", "a c"]).probability("b", ("a",)) != model.probability("b", ("a",))


def test_perplexity_by_hand():
    # "a b": P(a|<s>) = (2 - 2/3)/2 + (2/3)(1/2) P1(a) = 2/3 + (1/3)(22/125) = 272/375
    #        P(b|a) = 71/250;  P(</s>|b) = (1 - 2/3)/1 + (2/3)(1/1) P1(</s>) = 1/3 + (2/3)(47/125) = 219/375
    product = 272 / 375 * 71 / 250 * 219 / 375
    assert NGram(2).fit(["a b", "a c"]).perplexity(["a b"]) == pytest.approx(product ** (-1 / 3), rel=1e-12)


def test_order_one_is_discounted_frequencies():
    # counts b 1, a 2, </s> 2: n1 = 1, n2 = 2, D = 1/5, V = 4: P(a) = (2 - 1/5)/5 + (1/5)(3/5)(1/4) = 0.36 +
    # 0.03
    assert NGram(1).fit(["a b", "a"]).probability("a") == pytest.approx(0.39, abs=1e-15)


words = st.sampled_from("abcd")
texts = st.lists(st.lists(words, max_size=5).map(" ".join), min_size=1, max_size=6)


@given(texts, st.lists(st.sampled_from("abcdz"), max_size=4), st.integers(1, 4))
def test_probabilities_sum_to_one_after_any_context(texts, context, order):
    model = NGram(order).fit(texts)
    assert math.isclose(sum(model.probability(word, context) for word in model._words), 1, abs_tol=1e-12)
    assert model.probability(UNKNOWN, context) > 0


def test_a_higher_order_knows_more_and_nothing_has_no_value():
    train = ["the cat sat on the mat", "the dog sat on the rug", "the cat lay on the rug"] * 5
    assert NGram(3).fit(train).perplexity(train) < NGram(1).fit(train).perplexity(train)
    with pytest.raises(LoquentError, match="it must be 1 or more"):
        NGram(0)
    with pytest.raises(LoquentError, match="no texts"):
        NGram(2).fit([])
    with pytest.raises(LoquentError, match="call fit"):
        NGram(2).perplexity(["a"])
    with pytest.raises(LoquentError, match="perplexity of no texts is undefined"):
        NGram(2).fit(["a"]).perplexity([])
