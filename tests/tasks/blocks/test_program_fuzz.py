"""A fuzzer mutates programs: each ends in a bool or a typed error, within the budget; none runs as Python."""

import pytest

from tools.stress.fuzzing import corpus, fuzz


def checked(findings, coverage):
    assert findings["problems"] == []
    assert findings["executed"] == []
    assert findings["parsed"] >= 0.3
    assert findings["coverage"] >= coverage, findings["missing"]


def test_mutated_programs_end_in_a_bool_or_in_a_typed_error():
    checked(fuzz(3_000, 16, corpus(), covered=3_000), 0.95)


@pytest.mark.data
@pytest.mark.slow
def test_a_hundred_thousand_mutated_published_programs(beside):
    checked(fuzz(100_000, 1, corpus(beside / "data/lilgym"), covered=10_000), 0.95)
