import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.core.metric import Context, Samples
from loquent.errors import BadSetting
from loquent.rewards.penalties import length, repetition


def scores(metric, *texts):
    return metric(
        Samples(texts, [()] * len(texts), ["a prompt that does not count"] * len(texts), [])
    ).samples[metric.name]


def test_repetition_by_hand():
    # bigrams of "a b a b a": ab ba ab ba, two of four stood there before; of "a b c": none; "a" has none
    assert scores(repetition(Context(), n=2), "a b a b a", "a b c", "a", "") == [-0.5, 0.0, None, None]
    assert scores(repetition(Context(), n=1), "a A a a") == [-0.75]
    # trigrams, the default: three, two of them repeated
    assert scores(repetition(Context()), "no no no no no") == [-2 / 3]
    assert scores(repetition(Context(), n=4), "no no no no no") != [-2 / 3]


def test_length_by_hand():
    # words without punctuation: 2, 5, 0
    texts = ("two words .", "now there are five words", "")
    assert scores(length(Context(), low=3, high=4), *texts) == [-1.0, -1.0, -3.0]
    assert scores(length(Context(), high=2), *texts) == [0.0, -3.0, 0.0]
    assert scores(length(Context(), low=3), *texts) == [-1.0, 0.0, -3.0]


@given(st.lists(st.text(alphabet="ab .", max_size=20), min_size=1, max_size=5), st.randoms())
def test_a_penalty_is_never_a_gain_and_sees_one_text(texts, rng):
    order = list(range(len(texts)))
    rng.shuffle(order)
    for metric in (repetition(Context(), n=2), length(Context(), low=2, high=3)):
        together = scores(metric, *texts)
        assert all(score is None or score <= 0 for score in together)
        assert scores(metric, *(texts[i] for i in order)) == [together[i] for i in order]
        assert [scores(metric, text)[0] for text in texts] == together


def test_corpus_scores_are_means_of_what_is_there():
    metric = repetition(Context(), n=2)
    assert metric(Samples(["a b a b a", "a"], [(), ()], ["", ""], [])).corpus == {"repetition": -0.5}
    assert metric(Samples(["a"])).corpus == {}


def test_ranges_that_are_none():
    with pytest.raises(BadSetting, match="length: high = 2 is below low = 3"):
        length(Context(), low=3, high=2)
    with pytest.raises(BadSetting, match=r"length has neither low nor high.*set low, high or both"):
        length(Context())
    with pytest.raises(BadSetting, match="low must be at least 0, got -1"):
        length(Context(), low=-1)
