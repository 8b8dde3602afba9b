"""A measure that several metrics and rewards report is the same number in each, to the last bit."""

from loquent.core import registry
from loquent.core.metric import Context, Samples
from loquent.metrics.shared_parts import with_means
from loquent.metrics.text import bag_f1, mean

TEXT, PROMPT = "a b c a b c a b c", "x a b c y"


def score(kind, name, **options):
    metric = registry.find(kind, name)(Context(), **options)
    return metric(Samples([TEXT], [["a b d"]], [PROMPT], [None])).samples


def test_a_mean_does_not_depend_on_the_order_of_samples():
    scores = [1e16, 1.0, None, -1e16]
    assert mean(scores) == mean(scores[::-1]) == 1 / 3  # a naive sum gives 0 in one order
    assert mean([0.1] * 10) == 0.1
    measured = with_means({"a": scores, "b": [None], "c": []})
    assert measured.samples == {"a": scores, "b": [None], "c": []}
    assert measured.corpus == {"a": 1 / 3}


def test_repetition_is_one_number():
    # trigrams abc bca cab abc bca cab abc: 3 types of 7
    assert score("metric", "watch")["watch/repetition"] == [4 / 7]
    assert score("metric", "repetition_rate")["repetition_rate"] == [4 / 7]
    assert score("reward", "repetition")["repetition"] == [-4 / 7]


def test_copying_is_one_number():
    # abc is in the prompt, and is 3 of 7 trigrams
    assert score("metric", "watch")["watch/copied"] == [3 / 7]
    assert score("reward", "copying")["copying"] == [-3 / 7]


def test_f1_of_bags_is_one_number():
    # common words a, b; 9 and 3 words
    assert score("metric", "watch")["watch/overlap"] == [bag_f1(TEXT.split(), ["a", "b", "d"])] == [4 / 12]
    assert bag_f1([], []) == bag_f1([], ["a"]) == bag_f1([], ["a"], empty=1.0) == 0.0
    assert bag_f1([], [], empty=1.0) == 1.0
