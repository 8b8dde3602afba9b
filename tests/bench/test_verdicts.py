"""Verdicts: one test a claim, corrected in each table; one seed decides about rows alone."""

import dataclasses
from types import SimpleNamespace

import pytest

from loquent.bench import pages
from loquent.bench.evidence import verdicts, visible
from loquent.bench.evidence.rows import Row
from loquent.bench.evidence.verdicts import ACROSS, CONTRADICTED, HOLDS, MISSING, UNDECIDED
from loquent.bench.suite_schema import Ordering, Table
from loquent.statistics.intervals import interval


def row(name, *values, error=None, rows=100):
    """A cell with these values in the column `a`."""
    by_seed = dict(enumerate(values))
    return Row(
        name=name, label=name, task="t", n=len(values), episodes=rows, rows=rows, values={"a": by_seed},
        intervals={"a": interval(list(values))} if values else {}, paper={}, source="", paper_seeds=0,
        failures={}, seconds=0.0, errors={"a": {0: error}} if error else {},
    )  # fmt: skip


def judge(*orders, tables=(), **cells):
    """The verdicts on orderings of cells; a cell is a tuple of values, or a row."""
    rows = {name: cell if isinstance(cell, Row) else row(name, *cell) for name, cell in cells.items()}
    orderings = tuple(Ordering(claim=str(names), column="a", rising=tuple(names)) for names in orders)
    suite = SimpleNamespace(
        title="all", orderings=orderings, tables=tuple(Table(title=t, cells=tuple(c)) for t, c in tables)
    )
    return verdicts.judge(suite, rows)


FAR = (1.0, 1.1, 0.9)
NEAR = (0.0, 0.1, -0.1)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (NEAR, FAR, HOLDS),
        (FAR, NEAR, CONTRADICTED),
        ((0.0, 1.0, 2.0), (0.5, 1.5, 2.5), UNDECIDED),
        ((0.5, 0.5, 0.5), (0.9, 0.9, 0.9), UNDECIDED),  # no spread
        ((0.5, 0.5, 0.5), (0.5 + 1e-16, 0.5 + 2e-16, 0.5 + 1e-16), UNDECIDED),  # rounding
        ((0.0,), (1.0,), UNDECIDED),
        ((), FAR, MISSING),
    ],
)
def test_a_claim_is_decided_by_one_test(low, high, verdict):
    (found,) = judge("xy", x=low, y=high)
    assert (found.verdict, found.on_rows) == (verdict, "")


def test_equal_seeds_are_paired_only_where_the_ordering_says_so():
    """The values rise and fall together by 10, and differ by 1: only pairs see it."""
    rows = {"x": row("x", 0.0, 10.0, 20.0), "y": row("y", 1.0, 11.1, 20.9)}
    ordering = Ordering(claim="c", column="a", rising=("x", "y"))
    for paired, verdict in ((False, UNDECIDED), (True, HOLDS)):
        orderings = (dataclasses.replace(ordering, paired=paired),)
        suite = SimpleNamespace(title="all", orderings=orderings, tables=())
        assert verdicts.judge(suite, rows)[0].verdict == verdict


def test_the_tests_of_one_table_are_corrected_together():
    """p = 0.0478 (Welch by scipy) is decided alone and in a table of its own, and not beside two others."""
    cells = {"x": (0.0, 0.1, 0.2), "y": (0.22, 0.42, 0.36), "z": (0.2, 0.0, 0.1)}
    (alone,) = judge("xy", **cells)
    assert alone.p == pytest.approx(0.0478468, abs=1e-6)
    assert (alone.verdict, alone.corrected, alone.tests) == (HOLDS, alone.p, 1)
    together = judge("xy", "xz", "zx", **cells)
    assert (together[0].verdict, together[0].uncorrected) == (UNDECIDED, HOLDS)
    assert together[0].corrected == pytest.approx(3 * alone.p)
    assert "uncorrected it holds" in pages.decision_text(together[0])
    apart = judge("xy", "xz", "zx", tables=[("T", "xy"), ("U", "xz")], **cells)
    assert [(found.table, found.tests) for found in apart] == [("T", 1), ("U", 2), ("U", 2)]
    assert apart[0].verdict == HOLDS
    assert judge("xy", tables=[("T", "x")], **cells)[0].table == ACROSS


def test_an_ordering_of_four_cells_is_one_test():
    rising = judge("abcd", a=NEAR, b=FAR, c=(2.0, 2.1, 1.9), d=(3.0, 3.1, 2.9))
    assert (len(rising), rising[0].tests, rising[0].verdict) == (1, 1, HOLDS)
    assert rising[0].p == pytest.approx(max(2 * (1 - 0) * s.difference.above for s in rising[0].steps))
    (flat,) = judge("abcd", a=NEAR, b=FAR, c=FAR, d=(3.0, 3.1, 2.9))
    assert flat.verdict == UNDECIDED, "one step is not shown"
    assert flat.effect.difference.mean == pytest.approx(3.0), "the effect is that of the ends"
    (falling,) = judge("abcd", a=NEAR, b=FAR, c=NEAR, d=FAR)
    assert falling.verdict == CONTRADICTED, "one step falls"


def test_one_seed_is_decided_about_its_rows_alone():
    cells = {"x": row("x", 0.5, error=0.03), "y": row("y", 0.8, error=0.04)}
    (found,) = judge("xy", **cells)
    assert (found.verdict, found.on_rows, found.single) == (UNDECIDED, HOLDS, True)
    assert found.steps[0].error == pytest.approx(0.05)
    # 99 degrees of freedom each: Welch's are 99 * 0.0025² / (0.0009² + 0.0016²) = 183.6; t = 1.9729
    assert found.steps[0].difference.low == pytest.approx(0.3 - 1.9729 * 0.05, abs=1e-5)
    text = pages.decision_text(found)
    assert text.startswith("undecided about the methods (one seed); on these rows: holds")
    (noise,) = judge("xy", x=row("x", 0.5, error=1e-18), y=row("y", 0.5 + 1e-16, error=1e-18))
    assert noise.on_rows == ""


def test_the_effect_stands_before_the_verdict():
    (found,) = judge("xy", x=NEAR, y=FAR)
    assert pages.effect_text(found).startswith("difference 1.000 [0.7")
    assert pages.decision_text(found).startswith("holds (p = 0.00026, of 1 tests")


def test_a_table_has_the_smallest_difference_it_could_have_seen():
    """Deviation 0.1, three seeds, one test: t with 4 degrees of freedom needs 3.07 deviations."""
    rows = [row("x", *NEAR), row("y", *FAR), row("z", 0.5, 0.5, 0.5)]
    seen = visible.smallest(rows, "a", 1)
    assert (seen.difference, seen.deviation, seen.n) == (
        pytest.approx(0.30709, abs=1e-4),
        pytest.approx(0.1),
        3,
    )
    assert visible.smallest(rows, "a", 16).difference == pytest.approx(0.6508, abs=1e-3)
    single = visible.smallest([row("x", 0.5, error=0.03), row("y", 0.5, error=0.04)], "a", 1)
    # error 0.035355 of one mean, 0.05 of a difference; 2.8158 of them with 198 degrees of freedom
    assert (single.difference, single.n) == (pytest.approx(0.1408, abs=1e-3), 1)
    assert pages.visible_text(single) == "0.141 (rows)"
    assert visible.smallest([row("x", 0.5)], "a", 1) is None
