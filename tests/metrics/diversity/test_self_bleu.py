"""Self-BLEU against nltk, the repetition rate, and what the laws say of both."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from helpers.metrics import totto_pairs
from helpers.metrics.laws import TEXTS, check_laws
from loquent.core import registry
from loquent.core.metric import Context, Samples
from loquent.errors import BadSetting
from loquent.metrics.diversity.diversity import Diversity
from loquent.metrics.diversity.repetition import RepetitionRate, repetition_rate
from loquent.metrics.diversity.self_bleu import SelfBleu, self_bleu, self_bleus
from loquent.metrics.text import words

TOKENS = st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=9), min_size=2, max_size=8)


def corpus(metric, texts):
    return metric(Samples(texts)).corpus


def naive(texts, n, most=None):
    smoothing, weights = SmoothingFunction().method1, (1 / n,) * n
    return [
        float(sentence_bleu(texts[:i] + texts[i + 1 :], text, weights, smoothing))
        for i, text in enumerate(texts[:most])
    ]


@given(TOKENS, st.integers(1, 5))
def test_self_bleu_is_that_of_nltk(texts, n):
    assert self_bleus(texts, n) == pytest.approx(naive(texts, n), abs=1e-12)


@pytest.mark.data
def test_self_bleu_of_real_texts(beside):
    texts = [
        words(example["sentence_annotations"][0]["final_sentence"])
        for example in totto_pairs.examples(beside)
    ]
    assert len(texts) >= 200
    found = self_bleus(texts)
    assert found[:12] == pytest.approx(naive(texts, 4, 12), abs=1e-12)
    assert found[:12] != pytest.approx(naive(texts[:200], 4, 12), abs=1e-12)  # it can fail


def test_self_bleu_by_hand():
    # "a b c" and "a b d": 2 of 3 words, 1 of 2 pairs, no triple (0.1 of 1): the cube root of 2/3 * 1/2 * 0.1,
    # for both
    assert corpus(SelfBleu(3), ["a b c", "a b d"]) == {
        "self_bleu": pytest.approx((0.1 / 3) ** (1 / 3), abs=1e-12)
    }
    assert corpus(SelfBleu(), ["so it goes on", "So it goes on"]) == {
        "self_bleu": pytest.approx(1.0, abs=1e-12)
    }
    assert corpus(SelfBleu(), ["one two", "three four"]) == {"self_bleu": 0.0}


def test_self_bleu_of_one_is_absent():
    assert corpus(SelfBleu(), ["alone", "", " "]) == corpus(SelfBleu(), []) == {}


def test_repetition_rate_by_hand():
    # "so good so good so good": pairs so-good, good-so, so-good, good-so, so-good: 3 of 5 stood there before
    found = RepetitionRate(2)(Samples(["so good so good so good", "short", "all new words"]))
    assert found.samples == {"repetition_rate": [3 / 5, None, 0.0]}
    assert found.corpus == {"repetition_rate": 3 / 10}


@given(st.lists(TEXTS, max_size=6), st.integers(1, 4))
def test_the_reward_is_the_negative_of_the_rate(texts, n):
    reward = registry.find("reward", "repetition")(Context(), n=n)(Samples(texts))
    rate = repetition_rate(Context(), n=n)(Samples(texts))
    assert [None if score is None else -score for score in reward.samples["repetition"]] == rate.samples[
        "repetition_rate"
    ]


def test_laws():
    check_laws(SelfBleu(), 0.0, 1.0)
    check_laws(RepetitionRate(), 0.0, 1.0)


def test_options():
    assert self_bleu(Context(), n=2) == SelfBleu(2)
    assert registry.find("metric", "self_bleu") is self_bleu
    assert registry.find("metric", "repetition_rate") is repetition_rate
    with pytest.raises(BadSetting, match=r"n must be .*, got 0"):
        self_bleu(Context(), n=0)


def test_laws_of_diversity():
    # the window of MSTTR knows the order of texts: one that no text here fills leaves it out
    check_laws(Diversity(window=10**6), 0.0, 1e9)
