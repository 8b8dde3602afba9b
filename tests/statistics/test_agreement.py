"""Krippendorff's alpha on published worked examples, and what it must obey."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loquent.errors import BadSetting
from loquent.statistics.agreement import LEVELS, alpha

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", part C and E: four observers, twelve units
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""
# the example on the page of the package `krippendorff`
PACKAGE = """
. . . . . 3 4 1 2 1 1 3 3 . 3
1 . 2 1 3 3 4 3 . . . . . . .
. . 2 1 3 4 4 . 2 1 1 3 3 . 4
"""


def units(table):
    lines = [line.split() for line in table.strip().splitlines()]
    return [[float(cell) for cell in unit if cell != "."] for unit in zip(*lines, strict=True)]


@pytest.mark.parametrize(
    ("table", "level", "value"),
    [
        (OBSERVERS, "nominal", 0.743),
        (OBSERVERS, "ordinal", 0.815),
        (OBSERVERS, "interval", 0.849),
        (PACKAGE, "nominal", 0.691),
        (PACKAGE, "interval", 0.811),
    ],
)
def test_worked_examples(table, level, value):
    assert alpha(units(table), level) == pytest.approx(value, abs=5e-4)
    swapped = table.replace("4", "40").replace("5", "50")  # it can fail: other distances, the same order
    assert (alpha(units(swapped), level) == pytest.approx(value, abs=5e-4)) == (level != "interval")


def test_two_observers_by_hand():
    """Units (0, 0), (0, 1), (1, 1): observed 2 of 6 differ, expected 18 of 30: 1 - 5 * 2 / 18."""
    assert alpha([[0, 0], [0, 1], [1, 1]], "nominal") == pytest.approx(1 - 5 * 2 / 18)


def test_agreement_is_one_and_no_spread_is_none():
    for level in LEVELS:
        assert alpha([[1, 1], [2, 2, 2], [5, 5]], level) == pytest.approx(1)
        assert alpha([[3, 3], [3, 3]], level) is None
        assert alpha([[1], [2], []], level) is None
    with pytest.raises(BadSetting, match="one of nominal"):
        alpha([[1, 2]], "ratio")
    with pytest.raises(BadSetting, match="not finite"):
        alpha([[1, math.nan]], "nominal")


@given(st.lists(st.lists(st.integers(1, 5), max_size=4), min_size=1, max_size=8), st.randoms())
def test_order_does_not_count_and_single_ratings_add_nothing(table, random):
    for level in LEVELS:
        value = alpha(table, level)
        mixed = [random.sample(unit, len(unit)) for unit in random.sample(table, len(table))]
        assert alpha([*mixed, [4]], level) == (value if value is None else pytest.approx(value))
        assert value is None or value <= 1 + 1e-9


@given(st.lists(st.lists(st.integers(1, 5), min_size=2, max_size=3), min_size=2, max_size=6))
def test_ordinal_alpha_reads_ranks_alone_and_interval_alpha_not_scale(table):
    stretched = [[value**3 for value in unit] for unit in table]
    shifted = [[10 * value - 7 for value in unit] for unit in table]
    for changed, level in ((stretched, "ordinal"), (stretched, "nominal"), (shifted, "interval")):
        value = alpha(table, level)
        assert alpha(changed, level) == (value if value is None else pytest.approx(value))
