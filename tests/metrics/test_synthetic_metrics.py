import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.metrics.laws import check_laws
from loquent.core import registry
from loquent.core.metric import Context, Samples
from loquent.errors import BadSetting
from loquent.metrics.synthetic import dates, increasing, increasing_numbers

UP_TO_12 = " ".join(map(str, range(1, 13)))


def scores(metric, *texts):
    return metric(Samples(texts)).samples[metric.name]


def test_m6():
    # the run's length over max(words, 20 / 2)
    metric = increasing_numbers(Context())
    assert scores(metric, "1 2 3 4", "1 2 3 2 5", "a b c", UP_TO_12) == [0.4, 0.3, 0.0, 1.0]
    assert scores(increasing_numbers(Context(), min_tokens=8), "1 2 3 4") == [1.0]  # it can fail


def test_words_between_numbers_cost_nothing_but_their_length():
    assert increasing("so 1 and 2 then 2 3", 0) == 2 / 7
    assert increasing("3 2 1", 0) == 1 / 3
    assert increasing("-1.5 0 1e3", 0) == 1.0
    assert increasing("", 0) == 0.0


def test_only_finite_numbers_count_unless_legacy():
    legacy = increasing_numbers(Context(), legacy=True)
    assert legacy.name == "increasing_numbers-legacy" == legacy.keys[0]
    assert scores(increasing_numbers(Context()), "nan", "1 inf", "infinity 1", "1 nan 2") == [
        0.0,
        0.1,
        0.1,
        0.2,
    ]
    assert scores(legacy, "nan", "1 inf", "infinity 1", "1 nan 2") == [0.1, 0.2, 0.1, 0.1]


def test_dates():
    metric = dates(Context())
    assert scores(metric, "on 2022-10-03 .", "x1234-56-78", "2022-1-03", "2022 - 10 - 03", "") == [
        1.0,
        1.0,
        0.0,
        0.0,
        0.0,
    ]
    assert scores(metric, "12022-10-034", "2022-10-034", "2022-10-031 or 2022-10-03.", "2022-10-03-7") == [
        0.0,
        0.0,
        1.0,
        1.0,
    ]
    legacy = dates(Context(), legacy=True)
    assert (legacy.keys, scores(legacy, "12022-10-034", "2022-1-03")) == (("dates-legacy",), [1.0, 0.0])
    assert metric(Samples(["2022-10-03", ""])).corpus == {"dates": 0.5}


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(0, 60))
def test_a_sorted_set_of_numbers_counts_whole(numbers, least):
    rising = sorted(set(numbers))
    assert increasing(" ".join(map(str, rising)), least) == len(rising) / max(len(rising), least / 2)


@pytest.mark.parametrize(
    "make", [increasing_numbers, dates, lambda context: increasing_numbers(context, legacy=True)]
)
def test_laws(make):
    check_laws(make(Context()), 0.0, 1.0)


def test_registered():
    assert registry.find("metric", "increasing_numbers") is increasing_numbers
    assert registry.find("metric", "dates") is dates
    with pytest.raises(BadSetting, match="dates has no setting 'n'"):
        dates(Context(), n=1)
