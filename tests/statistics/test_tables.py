"""Tables: golden text, and means over seeds."""

import pytest

from loquent.statistics import tables

ROWS = [{"method": "a", "score": 0.5, "n": 400}, {"method": "bb", "score": 0.25, "n": 400}]


def test_a_column_of_one_character_has_a_rule_that_renders():
    assert tables.text_table(["a", "n"], [["x", "3"]]) == "| a  |  n |\n| -- | -: |\n| x  |  3 |"


def test_markdown_by_hand():
    assert tables.markdown(ROWS, {"score": True}) == (
        "| method | score ↑ |   n |\n| ------ | ------: | --: |\n| a      |   0.500 | 400 |\n| bb   "
        "  |   0.250 | 400 |"
    )


def test_csv_by_hand():
    assert tables.as_csv(ROWS) == "method,score,n\na,0.5,400\nbb,0.25,400\n"


def test_over_seeds_gives_mean_and_unbiased_deviation():
    # (0 + 1 + 2) / 3 = 1; ((1 + 0 + 1) / 2) ** 0.5 = 1
    merged = tables.over_seeds([[{"method": "a", "score": x}] for x in (0.0, 1.0, 2.0)], "method")
    assert merged == [{"method": "a", "score": 1.0, "score/sd": 1.0}]
    assert "1.000 ± 1.000" in tables.markdown(merged, {})
    assert tables.over_seeds([ROWS], "method") == ROWS
    with pytest.raises(ValueError, match="zip"):
        tables.over_seeds([ROWS, ROWS[:1]], "method")


def test_a_missing_number_is_a_dash():
    assert "–" in tables.markdown([{"method": "a", "score": None}], {})


@pytest.mark.parametrize("absent", [{}, {"score": None}])
def test_a_number_that_one_seed_has_not_is_no_mean_over_the_others(absent):
    for runs in (
        [[{"method": "a", "score": 1.0}], [{"method": "a", **absent}]],
        [[{"method": "a", **absent}], [{"method": "a", "score": 1.0}]],
    ):
        assert tables.over_seeds(runs, "method") == [{"method": "a", "score": None}]
