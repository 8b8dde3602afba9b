import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.metric import Context, Samples
from loquent.errors import BadSetting
from loquent.metrics.diversity.diversity import (
    Diversity,
    conditional_entropy,
    diversity,
    entropy,
    msttr,
    statistics_of,
)
from loquent.metrics.text import join_prompt, words

TEXTS = ["the cat sat", "the dog sat down"]


def corpus(texts, **options):
    return diversity(Context(), **options)(Samples(texts)).corpus


def test_m5_by_hand():
    # unigrams: the 2, sat 2, cat 1, dog 1, down 1 of 7:  H = -(2 * 2/7 log2 2/7 + 3 * 1/7 log2 1/7) =
    # 2.235926... bigrams: the-cat, cat-sat, the-dog, dog-sat, sat-down, all once: H = log2 5; none crosses
    # from text to text
    scores = corpus(TEXTS)
    assert scores["diversity/distinct-1"] == 5 / 7 == pytest.approx(0.714286, abs=5e-7)
    assert scores["diversity/unique-1"] == 3
    assert scores["diversity/vocabulary-1"] == 5
    assert scores["diversity/entropy-1"] == pytest.approx(2.235926, abs=5e-7)
    assert scores["diversity/distinct-2"] == 1.0
    assert scores["diversity/unique-2"] == 5
    assert scores["diversity/entropy-2"] == pytest.approx(2.321928, abs=5e-7)
    # it can fail: one text has a sixth bigram, "sat the"
    assert corpus([" ".join(TEXTS)])["diversity/unique-2"] != 5


def test_conditional_entropy_by_hand():
    # the -> cat or dog (1 bit, with p = 2/5), every other word has one successor (0 bits):  2/5
    assert corpus(TEXTS)["diversity/conditional_entropy-2"] == pytest.approx(0.4, abs=1e-15)
    # trigrams the-cat-sat, the-dog-sat, dog-sat-down: each is known from its first two words
    assert corpus(TEXTS)["diversity/conditional_entropy-3"] == 0.0
    assert conditional_entropy(Counter({("a", "b"): 1, ("a", "c"): 3})) == pytest.approx(
        entropy([1, 3]), abs=1e-15
    )
    assert conditional_entropy(Counter({("a", "b"): 1, ("d", "c"): 3})) == 0.0 != entropy([1, 3])


def test_lengths_by_hand():
    # 3 and 4 words: mean 3.5, population deviation 0.5
    scores = corpus(TEXTS)
    assert [
        scores[f"diversity/{name}_length"] for name in ("total", "mean", "std", "median", "min", "max")
    ] == [7, 3.5, 0.5, 3.5, 3, 4]


def test_msttr_drops_the_last_partial_window():
    # windows of 3 over 8 words: (a a b) 2/3, (a b c) 3/3; the last two words count nowhere
    assert msttr(list("aababcaa"), 3) == pytest.approx((2 / 3 + 1) / 2, abs=1e-15)
    assert msttr(list("aababc"), 3) == msttr(list("aababcaa"), 3) != msttr(list("aababcaaa"), 3)
    assert msttr(list("ab"), 3) is None


def test_punctuation_has_twins():
    scores = corpus(["Good , good !"])
    assert (scores["diversity/distinct-1"], scores["diversity/distinct-1-nopunct"]) == (3 / 4, 1 / 2)
    assert (scores["diversity/total_length"], scores["diversity/total_length-nopunct"]) == (4, 2)


@pytest.mark.parametrize("texts", [[], [""], ["", "  "], ["!"], ["word"], ["\ud800"]])
def test_what_means_nothing_is_absent(texts):
    scores = corpus(texts)
    assert all(math.isfinite(value) for value in scores.values())
    assert "diversity/msttr-100" not in scores
    assert "diversity/distinct-2" not in scores
    assert ("diversity/distinct-1" in scores) == bool(words(" ".join(texts)))


def test_keys_are_all_there_is():
    scores = corpus(["one two three four , five six seven"] * 30)
    assert set(scores) == set(Diversity().keys)
    assert set(corpus(TEXTS, window=2, n=2)) == set(Diversity(2, 2).keys)


@given(st.lists(st.lists(st.sampled_from("abcd,"), max_size=8), max_size=6), st.randoms())
def test_only_windows_know_the_order_of_texts(texts, rng):
    shuffled = list(texts)
    rng.shuffle(shuffled)
    one, other = statistics_of(texts, 5), statistics_of(shuffled, 5)
    assert {k: v for k, v in one.items() if "msttr" not in k} == {
        k: v for k, v in other.items() if "msttr" not in k
    }


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_entropy_lies_between_zero_and_the_uniform(counts):
    assert 0 <= entropy(counts) <= math.log2(len(counts)) + 1e-12
    assert entropy([7] * len(counts)) == pytest.approx(math.log2(len(counts)), abs=1e-12)


def test_options_are_checked():
    with pytest.raises(
        BadSetting, match=r"diversity has no setting 'windw'. Nearest: window. Known: window, n"
    ):
        diversity(Context(), windw=3)
    with pytest.raises(BadSetting, match=r"diversity.window must be an integer, at least 1, got 'x'"):
        diversity(Context(), window="x")
    with pytest.raises(BadSetting, match=r"window must be at least 1, got 0"):
        diversity(Context(), window=0)
    with pytest.raises(BadSetting, match=r"diversity.n must be an integer, .*, got true"):
        diversity(Context(), n=True)


def test_words_and_joining():
    assert words("It's GREAT , isn't it?! naïve_x") == [
        "it's",
        "great",
        ",",
        "isn't",
        "it",
        "?",
        "!",
        "naïve",
        "_",
        "x",
    ]
    assert join_prompt("a b", "c") == join_prompt("a b ", "c") == join_prompt("a b", " c") == "a b c"
    assert (join_prompt("", "c"), join_prompt("a", "")) == ("c", "a")
