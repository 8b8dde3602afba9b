"""The cheap marks beside a reward: by hand, and the laws of every metric."""

import pytest

from helpers.metrics.laws import check_laws, rows
from loquent.core.metric import Context, Samples
from loquent.core.values import Record
from loquent.errors import BadSetting
from loquent.metrics.diversity.watch import Watch, watch
from loquent.metrics.text import bag_f1
from loquent.rewards.content import Copying, MissingConcepts
from loquent.training.metrics import build_metrics, directions, higher_is_better


def test_marks_by_hand():
    # overlap: "the cat sat" of "the cat is here ." has the and cat: 2 * 2 / (3 + 5); of the other reference 2
    # * 3 / (3 + 4)
    found = Watch()(
        Samples(
            ["the cat sat", "a b a b a b", "", "the cat sat"],
            [["the cat is here .", "the cat sat ."], ["c"], ["x"], []],
            ["see how the cat sat .", "no", "no", "no"],
            rows(4),
        ),
    )
    assert found.samples == {
        "watch/overlap": [pytest.approx(6 / 7), 0.0, 0.0, None],
        "watch/repetition": [0.0, 0.5, None, 0.0],  # aba bab aba bab
        "watch/copied": [1.0, 0.0, None, 0.0],
        "watch/words": [3.0, 6.0, 0.0, 3.0],
    }
    # bigrams: the cat, cat sat (twice), ab ba ab ba ab: 4 kinds of 9
    assert found.corpus == {
        "watch/overlap": pytest.approx(6 / 7 / 3), "watch/repetition": pytest.approx(0.5 / 3),
        "watch/copied": pytest.approx(1 / 3),
        "watch/words": 3.0, "watch/distinct_2": pytest.approx(4 / 9), "watch/same": 0.5,
    }  # fmt: skip
    assert bag_f1(["a", "a", "b"], ["a", "c"]) == pytest.approx(2 / 5), (
        "a word counts as often as both have it"
    )


def test_laws():
    check_laws(Watch(), 0.0, 10_000.0)  # 5,000 times "1.5", which is two words


def test_laws_of_the_penalties_that_see_more_than_the_answer():
    check_laws(Copying(), -1.0, 0.0)
    check_laws(Copying(1), -1.0, 0.0)
    check_laws(MissingConcepts(concepts=("cat", "42")), -1.0, 0.0)


def test_each_value_has_its_own_direction():
    [metric] = build_metrics(Record(watch=Record()), Context())
    assert directions([metric], Record(), metric.keys) == dict(Watch.directions)
    [renamed] = build_metrics(Record(other=Record(of="watch")), Context())
    assert higher_is_better("other/watch/repetition", [renamed], Record()) is False
    with pytest.raises(BadSetting, match="says neither up nor down"):
        higher_is_better("watch/words", [metric], Record())
    with pytest.raises(BadSetting, match="watch has no setting 'n'"):
        watch(Context(), n=2)
